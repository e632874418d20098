export { type DenseOptions, denseProducts } from './wasm';
