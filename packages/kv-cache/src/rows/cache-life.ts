// What may be done with a cache when: until it is disposed, while it is open, outside of gradients, by one layer.
import { ConfigError, UnsupportedError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';

/** A layer, told from others of its name by identity. */
export interface LayerName {
  /** The layer's own, for errors. */
  readonly name: string;
}

export class CacheLife {
  private isSealed = false;
  private isDisposed = false;
  private layer: LayerName | undefined;
  private changes = 0;

  /** @param name the cache's, for errors */
  constructor(private readonly name: string) {}

  get sealed(): boolean {
    return this.isSealed;
  }

  get disposed(): boolean {
    return this.isDisposed;
  }

  /** What was read or staged before is stale now. */
  change(): void {
    this.changes++;
  }

  seal(): void {
    this.changes++;
    this.isSealed = true;
  }

  /** Open again, to any layer. */
  reset(): void {
    this.changes++;
    this.isSealed = false;
    this.layer = undefined;
  }

  /** As it is now, and on its own from then on. */
  fork(): CacheLife {
    return Object.assign(new CacheLife(this.name), this);
  }

  dispose(): void {
    this.reset();
    this.isDisposed = true;
  }

  /** The first layer is the only one from now on. */
  bindTo(layer: LayerName | undefined): void {
    this.layer ??= layer;
  }

  /** @throws ConfigError for another layer than the one whose rows are held */
  checkLayer(method: string, layer: LayerName | undefined): void {
    const { layer: first } = this;
    if (!layer || !first || layer === first) return;
    throw new ConfigError(
      `${this.name}.${method}`,
      'a cache serves one layer: `reset` frees it for another',
      {
        'rows are of': first.name,
        'called by': layer.name === first.name ? `another layer, also named ${layer.name}` : layer.name,
      },
    );
  }

  /** @returns throws once the cache has changed */
  whileUnchanged(method: string): () => void {
    const { changes } = this;
    return () => {
      if (changes === this.changes) return;
      throw new ConfigError(`${this.name}.${method}`, `the cache has changed since: ${method} again`);
    };
  }

  /** @returns throws once the tidy that is open now has ended */
  insideThisTidy(): () => void {
    const { state } = tf.engine();
    const { activeScope } = state;
    return () => {
      if (!activeScope || state.scopeStack.includes(activeScope)) return;
      throw new ConfigError(`${this.name}.stage`, 'rows must be committed inside the tidy that staged them');
    };
  }

  checkAlive(method: string): void {
    if (this.isDisposed) throw new ConfigError(`${this.name}.${method}`, 'the cache must not be disposed');
  }

  checkOpen(method: string): void {
    this.checkAlive(method);
    if (this.isSealed)
      throw new ConfigError(`${this.name}.${method}`, 'the cache is sealed: `reset` opens it');
  }

  checkUntaped(method: string): void {
    if (tf.engine().state.gradientDepth === 0) return;
    throw new UnsupportedError(`${this.name}.${method}`, 'a cache cannot stand in a gradient', [
      'its rows are copies, so gradients through them would be silently zero',
    ]);
  }
}
