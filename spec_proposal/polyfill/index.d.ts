/// <reference types="@webgpu/types" />

/**
 * Adds compute bundles and command graphs to the interfaces of WebGPU, before any device is requested. May be called more than once.
 * @returns whether the polyfill is in use; false where the browser has compute bundles of its own
 * @throws Error: WebGPU itself is missing
 */
export function install(): boolean;

declare global {
  // Part A

  interface GPUComputeBundleEncoderDescriptor extends GPUObjectDescriptorBase {
    /** The layout of each slot. */
    slots?: Iterable<GPUBindGroupLayout>;
  }

  interface GPUSlotBinding {
    bindGroup: GPUBindGroup;
    dynamicOffsets?: Iterable<GPUBufferDynamicOffset>;
  }

  type GPUSlotBindingSource = GPUBindGroup | GPUSlotBinding;
  type GPUComputeBundleDescriptor = GPUObjectDescriptorBase;

  interface GPUComputeBundle extends GPUObjectBase {
    readonly __brand: 'GPUComputeBundle';
  }

  interface GPUBundledCommandsMixin {
    setPipeline(pipeline: GPUComputePipeline): undefined;
    /** Puts a placeholder at an index: an execution binds a group to the slot. */
    setBindGroupSlot(index: GPUIndex32, slot: GPUIndex32): undefined;
    dispatchWorkgroups(workgroupCountX: GPUSize32, workgroupCountY?: GPUSize32, workgroupCountZ?: GPUSize32): undefined;
    dispatchWorkgroupsIndirect(indirectBuffer: GPUBuffer, indirectOffset: GPUSize64): undefined;
  }

  interface GPUComputeBundleEncoder extends GPUObjectBase, GPUDebugCommandsMixin, GPUBindingCommandsMixin, GPUBundledCommandsMixin {
    readonly __brand: 'GPUComputeBundleEncoder';
    finish(descriptor?: GPUComputeBundleDescriptor): GPUComputeBundle;
  }

  interface GPUComputePassEncoder {
    /** Executes the dispatches of a bundle with a bind group for each of its slots. Leaves no pipeline, group or immediates set. */
    executeBundle(bundle: GPUComputeBundle, slotBindings?: Iterable<GPUSlotBindingSource>): undefined;
  }

  interface GPUSupportedLimits {
    readonly maxComputeBundleCommands: number;
    readonly maxComputeBundleSlots: number;
  }

  interface GPUDevice {
    createComputeBundleEncoder(descriptor?: GPUComputeBundleEncoderDescriptor): GPUComputeBundleEncoder;
    /** Part B, a prototype: needs the feature "command-graph". */
    createCommandGraphEncoder(descriptor?: GPUComputeBundleEncoderDescriptor): GPUCommandGraphEncoder;
  }

  var GPUComputeBundle: { prototype: GPUComputeBundle };
  var GPUComputeBundleEncoder: { prototype: GPUComputeBundleEncoder };

  // Part B, a prototype

  interface GPUCommandGraph extends GPUObjectBase {
    readonly __brand: 'GPUCommandGraph';
  }

  interface GPUCommandGraphPassEncoder extends GPUObjectBase, GPUDebugCommandsMixin, GPUBindingCommandsMixin, GPUBundledCommandsMixin {
    readonly __brand: 'GPUCommandGraphPassEncoder';
    end(): undefined;
  }

  interface GPUCommandGraphEncoder extends GPUObjectBase, GPUDebugCommandsMixin {
    readonly __brand: 'GPUCommandGraphEncoder';
    beginComputePass(descriptor?: GPUObjectDescriptorBase): GPUCommandGraphPassEncoder;
    copyBufferToBuffer(source: GPUBuffer, sourceOffset: GPUSize64, destination: GPUBuffer, destinationOffset: GPUSize64, size: GPUSize64): undefined;
    clearBuffer(buffer: GPUBuffer, offset?: GPUSize64, size?: GPUSize64): undefined;
    finish(descriptor?: GPUObjectDescriptorBase): GPUCommandGraph;
  }

  interface GPUQueue {
    submitGraph(graph: GPUCommandGraph, slotBindings?: Iterable<GPUSlotBindingSource>): undefined;
  }

  var GPUCommandGraph: { prototype: GPUCommandGraph };
  var GPUCommandGraphEncoder: { prototype: GPUCommandGraphEncoder };
  var GPUCommandGraphPassEncoder: { prototype: GPUCommandGraphPassEncoder };
}
