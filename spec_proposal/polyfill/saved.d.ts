/// <reference types="@webgpu/types" />
import './index.js';

/** Gives a file of the folder that holds a graph. */
export type Folder = (file: string) => Promise<ArrayBuffer>;

export interface LoadedGraph {
  graph: GPUCommandGraph;
  buffers: GPUBuffer[];
  pipelines: GPUComputePipeline[];
  bindGroups: GPUBindGroup[];
}

export interface SavedGraph {
  /** As format.md describes it. */
  manifest: Record<string, any>;
  /** What a device must have, for `requestDevice`. */
  deviceDescriptor: GPUDeviceDescriptor;
  /**
   * Makes everything on a device. `buffers`, `pipelines` and `bindGroups` are those of the manifest, in its order: who wants to encode
   * its nodes in another way finds in them what the nodes name.
   * @throws Error: the file is damaged, or not valid on this device; nothing is left behind
   */
  instantiate(device: GPUDevice): Promise<LoadedGraph>;
}

/**
 * Reads and checks a saved graph (format.md); makes nothing on a device.
 * @throws Error: it is no such file, damaged, or asks for too much
 */
export function readGraph(source: ArrayBuffer | Folder): Promise<SavedGraph>;
