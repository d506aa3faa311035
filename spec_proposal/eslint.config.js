import js from '@eslint/js';
import globals from 'globals';

const WEBGPU = Object.fromEntries(
  [
    'GPU', 'GPUAdapter', 'GPUBindGroup', 'GPUBindGroupLayout', 'GPUBuffer', 'GPUBufferUsage', 'GPUCommandEncoder', 'GPUComputePassEncoder',
    'GPUComputePipeline', 'GPUDevice', 'GPUMapMode', 'GPUQueue', 'GPURenderPipeline', 'GPUShaderStage', 'GPUSupportedLimits', 'GPUTexture',
    'GPUTextureUsage', 'GPUTextureView', 'GPUUncapturedErrorEvent', 'GPUValidationError', 'GPUComputeBundle', 'GPUComputeBundleEncoder',
  ].map((name) => [name, 'readonly']),
);

const RULES = {
  'array-callback-return': 'error',
  eqeqeq: 'error',
  'no-implicit-coercion': ['error', { boolean: false }],
  'no-shadow': 'error',
  'no-unused-vars': 'error',
  'no-use-before-define': ['error', { functions: false, variables: false }],
  'no-var': 'error',
  'object-shorthand': 'error',
  'prefer-const': 'error',
};

export default [
  { ignores: ['node_modules/', 'results/'] },
  js.configs.recommended,
  { languageOptions: { globals: { ...globals.browser, ...WEBGPU } }, rules: RULES },
  { files: ['conformance/node.js', 'conformance/mutations.js', 'eslint.config.js', 'tools/**'], languageOptions: { globals: globals.node } },
];
