export { type DenseOptions, denseProducts } from './dense-products';
