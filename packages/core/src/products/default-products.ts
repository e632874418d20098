// What multiplies in layers that have no products of their own.
import { ConfigError } from '../contract/errors';
import type { ProductKernel } from '../contract/products';
import { tfjsProducts } from './tfjs-products';

/** Found by every copy of this package: an application that mixes versions has several. */
const mark = Symbol.for('polyhead.defaultProducts');
const shared = globalThis as { [mark]?: ProductKernel | undefined };

/**
 * What multiplies rows with weights in every layer that has no `products` of its own, from now on. Where it cannot, and on
 * undefined, `tfjsProducts()`.
 *
 * @throws ConfigError for what is no product kernel
 * @example setDefaultProducts(dense());
 */
export function setDefaultProducts(products: ProductKernel | undefined): void {
  if (products !== undefined) checkProducts('setDefaultProducts', products);
  shared[mark] = products;
}

/** What `setDefaultProducts` was given last, else `tfjsProducts()`. */
export function defaultProducts(): ProductKernel {
  return shared[mark] ?? tfjsProducts();
}

/** @throws ConfigError for what is no product kernel */
export function checkProducts(where: string, products: ProductKernel): void {
  const { run, gradients, unsupported } = (products ?? {}) as Partial<ProductKernel>;
  if ([run, gradients, unsupported].every((method) => typeof method === 'function')) return;
  throw new ConfigError(where, 'products must be a ProductKernel, such as tfjsProducts()', { products });
}
