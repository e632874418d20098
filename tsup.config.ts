import { defineConfig } from 'tsup';

// Every package builds with this file and its own folder as working directory.
export default defineConfig({
  entry: ['src/{index,layer,kernel,cpu,wasm}.ts'], // a kernel for one backend has an entry of its own
  format: 'esm',
  target: 'es2022',
  // tsup sets `baseUrl`, which TypeScript 6 calls deprecated.
  dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
  sourcemap: true,
  clean: true,
});
