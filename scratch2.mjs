// scratch2.ts
import * as tf14 from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";

// packages/core/src/backend/traits.ts
import * as tf from "@tensorflow/tfjs-core";

// packages/core/src/contract/errors.ts
var mark = /* @__PURE__ */ Symbol.for("polyhead.AttentionError");
var AttentionError = class extends Error {
  /** The name of its class. */
  name = "AttentionError";
  /** By which `isAttentionError` knows errors of other installed copies. */
  [mark] = true;
  /**
   * @param where the function that refuses
   * @param rule what must hold
   * @param facts what came, one line each, as `name: value`
   */
  constructor(where2, rule, facts = {}) {
    super([`${where2}: ${rule}`, ...factLines(facts)].join("\n"));
  }
};
var ShapeError = class extends AttentionError {
  /** The name of its class. */
  name = "ShapeError";
};
var ConfigError = class extends AttentionError {
  /** The name of its class. */
  name = "ConfigError";
};
var UnsupportedError = class extends AttentionError {
  constructor(where2, rule, reasons, facts = {}) {
    super(where2, rule, {
      ...facts,
      ...Object.fromEntries(reasons.map((reason, i) => [`reason ${i + 1}`, reason]))
    });
    this.reasons = reasons;
  }
  reasons;
  /** The name of its class. */
  name = "UnsupportedError";
};
function factLines(facts) {
  const names = Object.keys(facts);
  const width = Math.max(0, ...names.map((name) => name.length));
  return names.map((name) => `  ${name.padEnd(width)}  ${formatFact(facts[name])}`);
}
function formatFact(fact) {
  if (isTensorLike(fact))
    return `[${fact.shape.join(", ")}] ${fact.dtype}${fact.isDisposed ? " (disposed)" : ""}`;
  if (Array.isArray(fact) || ArrayBuffer.isView(fact))
    return formatList(Array.from(fact));
  if (typeof fact === "function") return `function ${fact.name}`;
  return typeof fact === "object" && fact !== null ? formatObject(fact) : String(fact);
}
function formatList(list) {
  const shown = list.slice(0, 12).map((entry) => Array.isArray(entry) ? formatList(entry) : formatFact(entry));
  return `[${shown.join(", ")}${list.length > shown.length ? `, \u2026 ${list.length} in all` : ""}]`;
}
function formatObject(fact) {
  return `{ ${Object.keys(fact).slice(0, 12).join(", ")} }`;
}
function isTensorLike(x) {
  return typeof x === "object" && x !== null && "shape" in x && Array.isArray(x.shape) && "dtype" in x;
}

// packages/core/src/checks/check-config.ts
function checkKnownOptions(where2, name, options, known) {
  const unknown2 = Object.keys(options).filter((option) => !known.includes(option));
  if (unknown2.length === 0) return;
  throw new ConfigError(where2, `${name} may hold known options only: none is ignored`, { unknown: unknown2, known });
}

// packages/core/src/checks/normalize-options.ts
function normalizeOptions(where2, name, options, known) {
  const isObject = typeof options === "object" && options !== null && !Array.isArray(options);
  if (!isObject) throw new ConfigError(where2, `${name} must be an object`, { [name]: options, known });
  checkKnownOptions(where2, name, options, known);
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== void 0 && value !== null)
  );
}

// packages/core/src/backend/traits.ts
var never = () => false;
var unknown = {
  synchronousRead: false,
  wasmHeap: false,
  hostArrays: false,
  fastScatter: false,
  maxDispatch: 65535,
  maxAddends: 7,
  smallestLogit: -1e19,
  exactMax: false,
  exactLog: false,
  exactTanh: false,
  halfFloats: never
};
var processor = {
  synchronousRead: true,
  wasmHeap: false,
  hostArrays: false,
  fastScatter: false,
  maxDispatch: Number.POSITIVE_INFINITY,
  maxAddends: Number.POSITIVE_INFINITY,
  smallestLogit: Number.NEGATIVE_INFINITY,
  exactMax: true,
  exactLog: true,
  exactTanh: true,
  halfFloats: never
};
var table = /* @__PURE__ */ new Map([
  ["cpu", { ...processor, hostArrays: true }],
  ["wasm", { ...processor, wasmHeap: true }],
  ["tensorflow", { ...processor, fastScatter: true }],
  [
    "webgl",
    {
      ...unknown,
      maxDispatch: Number.POSITIVE_INFINITY,
      halfFloats: () => !tf.env().getBool("WEBGL_RENDER_FLOAT32_ENABLED")
    }
  ],
  ["webgpu", { ...unknown, smallestLogit: Number.NEGATIVE_INFINITY }]
]);
function backendTraits(name = tf.getBackend()) {
  return table.get(name) ?? unknown;
}

// packages/core/src/contract/json.ts
function withKind(kind, parameters, f) {
  return Object.assign(f, { kind, parameters });
}

// packages/core/src/kernel/gradient.ts
import * as tf3 from "@tensorflow/tfjs-core";

// packages/core/src/backend/clean-tidy.ts
import * as tf2 from "@tensorflow/tfjs-core";
function cleanTidy(f) {
  const { state } = tf2.engine();
  const recorded = state.activeTape?.length ?? 0;
  try {
    return tf2.tidy(f);
  } catch (error) {
    for (const { saved } of state.activeTape?.splice(recorded) ?? []) tf2.dispose(saved);
    throw explained(error);
  }
}
function explained(error) {
  if (!(error instanceof RangeError) || !/array|buffer/i.test(error.message)) return explainMissingOp(error);
  return new UnsupportedError("memory", "the tensors of a call must fit into memory", [error.message]);
}
function explainMissingOp(error) {
  const message = error?.message ?? "";
  const [, op, backend2] = /^Kernel '(\w+)' not registered for backend '([^']+)'/.exec(message) ?? [];
  if (op === void 0 || backend2 === void 0) return error;
  const { registryFactory } = tf2.engine();
  const others = Object.keys(registryFactory).filter((name) => tf2.getKernel(op, name));
  return new UnsupportedError("tfjs", `backend "${backend2}" lacks the operation ${op}`, [
    others.length > 0 ? `${others.map((name) => `"${name}"`).join(", ")} has it: tf.setBackend('${others[0]}')` : `no backend that is imported has it: import '@tensorflow/tfjs-backend-wasm' or another`
  ]);
}

// packages/core/src/kernel/gradient.ts
var secondOrder = "it would be silently wrong: tfjs takes saved outputs for constants";
function isTaped(where2) {
  if (tf3.engine().state.gradientDepth === 0) return false;
  if (tf3.getGradient("Reshape")) return true;
  throw new UnsupportedError(where2, "gradients need tfjs's own; add: import '@tensorflow/tfjs'", [
    "@tensorflow/tfjs-core alone registers no gradients"
  ]);
}
function differentiable({
  inputs,
  constants = []
}, forward, backward) {
  if (tf3.engine().state.gradientDepth > 1) {
    throw new UnsupportedError("gradient", "a gradient of a gradient is not supported", [secondOrder]);
  }
  const taped = tf3.customGrad((...args) => {
    const save = args.pop();
    const tensors = args;
    const value = forward(tensors);
    save([...tensors, ...constants]);
    return {
      value,
      gradFunc: (gradient, saved) => cleanTidy(() => backward(gradient, saved.slice(0, inputs.length), saved.slice(inputs.length)))
    };
  });
  return taped(...inputs);
}

// packages/core/src/backend/wasm-heap.ts
import * as tf4 from "@tensorflow/tfjs-core";
function hasWasmHeap() {
  if (!backendTraits().wasmHeap || !("dataIdMap" in tf4.backend())) return false;
  guardAllocations(currentBackend().wasm);
  return true;
}
function addressOnHeap(tensor) {
  return currentBackend().dataIdMap.get(tensor.dataId).memoryOffset >>> 0;
}
function floatsOnHeap(tensor) {
  const address = addressOnHeap(tensor);
  return new Float32Array(currentBackend().wasm.HEAPU8.buffer, address, tensor.size);
}
function heapMemory() {
  return memoryOf(currentBackend().wasm);
}
function memoryOf({ asm, wasmMemory }) {
  const memory = asm?.memory ?? wasmMemory;
  return memory instanceof WebAssembly.Memory ? memory : void 0;
}
function heapBytes(module) {
  return memoryOf(module)?.buffer.byteLength ?? module.HEAPU8.length;
}
function allocateOnHeap(bytes) {
  return currentBackend().wasm._malloc(bytes) >>> 0;
}
function freeOnHeap(address) {
  currentBackend().wasm._free(address);
}
function viewsOnHeap(one, other) {
  for (const tensor of [one, other]) floatsOnHeap(tensor);
  return [floatsOnHeap(one), floatsOnHeap(other)];
}
function emptyOnHeap(shape) {
  const info = currentBackend().makeOutput([...shape], "float32");
  return tf4.engine().makeTensorFromTensorInfo(info);
}
var guarded = /* @__PURE__ */ new WeakSet();
function guardAllocations(module) {
  if (guarded.has(module)) return;
  guarded.add(module);
  module._free(module._malloc(1));
  const { _malloc: allocate } = module;
  module._malloc = (bytes) => {
    const address = bytes < 2 ** 31 ? allocate.call(module, bytes) : 0;
    const isInside = address !== 0 && (address >>> 0) + bytes <= heapBytes(module);
    if (isInside || bytes === 0) return address;
    throw new UnsupportedError(
      "wasm",
      "the heap of the wasm backend is exhausted",
      ["an allocation failed"],
      {
        "bytes requested": bytes,
        "heap bytes": heapBytes(module)
      }
    );
  };
}
function currentBackend() {
  return tf4.backend();
}

// packages/core/src/backend/multiply.ts
import * as tf5 from "@tensorflow/tfjs-core";
function timesTransposed(x, y) {
  const [B, Hkv, C] = y.shape;
  const rows = fold(x, B * Hkv);
  const product = isOneMatrix(y) ? tf5.matMul(rows, transposed(fold(y, 1))) : tf5.matMul(rows, fold(y, B * Hkv), false, true);
  return tf5.reshape(product, [B, x.shape[1], x.shape[2], C]);
}
function times(x, y) {
  const [B, Hkv, , N] = y.shape;
  const product = tf5.matMul(fold(x, B * Hkv), fold(y, B * Hkv));
  return tf5.reshape(product, [B, x.shape[1], x.shape[2], N]);
}
function transposedTimes(x, y, Hkv) {
  const B = x.shape[0];
  const product = B * Hkv === 1 && hasWasmHeap() ? transposed(tf5.matMul(transposed(fold(y, 1)), fold(x, 1))) : tf5.matMul(fold(x, B * Hkv), fold(y, B * Hkv), true, false);
  return tf5.reshape(product, [B, Hkv, x.shape[3], y.shape[3]]);
}
function isOneMatrix(y) {
  return y.shape[0] * y.shape[1] === 1 && hasWasmHeap();
}
function fold(x, matrices) {
  const [B, H, R, N] = x.shape;
  return tf5.reshape(x, [matrices, B * H * R / matrices, N]);
}
function transposed(x) {
  const [, R, C] = x.shape;
  const result = emptyOnHeap([1, C, R]);
  const [from, to] = viewsOnHeap(x, result);
  const tile = 16;
  for (let r0 = 0; r0 < R; r0 += tile) {
    const r1 = Math.min(R, r0 + tile);
    for (let c = 0; c < C; c++) {
      for (let r = r0; r < r1; r++) to[c * R + r] = from[r * C + c];
    }
  }
  return result;
}

// packages/core/src/backend/finite.ts
import * as tf6 from "@tensorflow/tfjs-core";
var largestSquare = 1e37;
function allBounded(x) {
  return isKnown(x, () => sumOfSquares(x) <= largestSquare);
}
var fewNumbers = 2 ** 12;
function sumOfSquares(x) {
  if (x.size > fewNumbers || !hasWasmHeap()) return numberOf(tf6.sum(tf6.square(x)));
  const numbers = floatsOnHeap(x);
  let sum3 = 0;
  for (let n = 0; n < numbers.length; n++) sum3 += numbers[n] * numbers[n];
  return sum3;
}
function isKnown(x, holds) {
  if (x.size === 0) return true;
  if (!backendTraits().synchronousRead) return false;
  return tf6.tidy(holds);
}
function numberOf(x) {
  return x.dataSync()[0];
}

// packages/core/src/checks/check-tensor.ts
import * as tf7 from "@tensorflow/tfjs-core";
function checkTensor(where2, name, tensor, [shape, facts = {}, dtype = "float32"]) {
  const rank = shape.split(",").length;
  const isFine = tensor instanceof tf7.Tensor && !tensor.isDisposed && tensor.rank === rank;
  if (isFine && tensor.dtype === dtype) return;
  const came = { ...facts, [name]: tensor };
  if (!(tensor instanceof tf7.Tensor)) throw new ShapeError(where2, `${name} must be a tensor ${shape}`, came);
  if (tensor.isDisposed) throw new ShapeError(where2, `${name} must not be disposed`, came);
  if (tensor.rank !== rank) throw new ShapeError(where2, `${name} must have rank ${rank}: ${shape}`, came);
  throw new ShapeError(where2, `${name} must be ${dtype}`, came);
}

// packages/core/src/products/tfjs-products.ts
import * as tf8 from "@tensorflow/tfjs-core";
var products = {
  name: "tfjsProducts",
  toJSON: () => ({ kind: "tfjsProducts" }),
  unsupported: () => [],
  run(call) {
    const product = productOf(call);
    return call.bias ? tf8.add(product, call.bias) : product;
  },
  gradients: (call, gradient) => gradientsOf(call, gradient)
};
var tfjsProducts = /* @__PURE__ */ withKind("tfjsProducts", [], () => products);
function productOf(call) {
  const { x, transposed: transposed2, sizes } = call;
  const [B, S] = x.shape;
  const { rows, inDim, outDim } = sizes;
  const shape = [B, S, outDim];
  if (rows * inDim * outDim === 0) return tf8.zeros(shape);
  const weights = floatsOf(call);
  if (transposed2) {
    const columns = swapped(tf8.reshape(x, [rows, inDim]));
    return tf8.reshape(swapped(tf8.matMul(weights, columns)), shape);
  }
  if (B === 1) return tf8.matMul(x, weights);
  return tf8.reshape(tf8.matMul(tf8.reshape(x, [1, rows, inDim]), weights), shape);
}
function gradientsOf(call, gradient) {
  const { x, weights, bias, transposed: transposed2, sizes } = call;
  const { rows, inDim, outDim } = sizes;
  const isTrained = weights instanceof tf8.Tensor;
  const g = tf8.reshape(gradient, [1, 1, rows, outDim]);
  if (rows * inDim * outDim === 0) {
    return {
      x: tf8.zerosLike(x),
      ...isTrained && { weights: tf8.zerosLike(weights) },
      ...bias && { bias: tf8.zerosLike(bias) }
    };
  }
  const r = tf8.reshape(x, [1, 1, rows, inDim]);
  const w = tf8.reshape(floatsOf(call), [1, 1, ...weights.shape]);
  const ofWeights = () => transposed2 ? transposedTimes(g, r, 1) : transposedTimes(r, g, 1);
  return {
    x: tf8.reshape(transposed2 ? times(g, w) : timesTransposed(g, w), x.shape),
    ...isTrained && { weights: tf8.reshape(ofWeights(), weights.shape) },
    ...bias && { bias: tf8.sum(g, [0, 1, 2]) }
  };
}
function floatsOf({ weights }) {
  return weights instanceof tf8.Tensor ? weights : weights.toFloats();
}
function swapped(x) {
  const [R, C] = x.shape;
  return R === 1 || C === 1 ? tf8.reshape(x, [C, R]) : tf8.transpose(x);
}

// packages/core/src/products/default-products.ts
var mark2 = /* @__PURE__ */ Symbol.for("polyhead.defaultProducts");
var shared = globalThis;
function defaultProducts() {
  return shared[mark2] ?? tfjsProducts();
}

// packages/core/src/backend/wasm-modules.ts
import * as tf9 from "@tensorflow/tfjs-core";
function reasonsWithoutHeap(instead) {
  if (hasWasmHeap() && heapMemory()) return [];
  return [`backend "${tf9.getBackend()}" has no heap that it could work on: take "wasm", or ${instead}`];
}
function sharesMemory({ buffer }) {
  return typeof SharedArrayBuffer !== "undefined" && buffer instanceof SharedArrayBuffer;
}
var WasmModules = class {
  #texts;
  #modules = /* @__PURE__ */ new Map();
  #sharedModules = /* @__PURE__ */ new Map();
  #instances = /* @__PURE__ */ new WeakMap();
  /** @param texts the modules in base64 */
  constructor(texts) {
    this.#texts = texts;
  }
  /**
   * Which build serves, from now on.
   *
   * @throws ConfigError for what is no `RelaxedSimd`
   */
  choose(where2, relaxedSimd) {
    if (relaxedSimd !== "auto" && typeof relaxedSimd !== "boolean")
      throw new ConfigError(where2, "relaxedSimd must be 'auto', true or false", { relaxedSimd });
    let chosen;
    return () => {
      if (relaxedSimd === true && chosen === void 0) this.enableRelaxedSimd();
      chosen ??= relaxedSimd !== false && this.knowsRelaxedSimd() ? "relaxed" : "plain";
      return chosen;
    };
  }
  /** Whether this engine knows relaxed SIMD, now. */
  knowsRelaxedSimd() {
    return this.#modules.has("relaxed") || WebAssembly.validate(this.#bytesOf("relaxed", false));
  }
  /** Switches relaxed SIMD on in Node 20, which has it behind a flag of the whole process; elsewhere it does nothing. */
  enableRelaxedSimd() {
    if (this.knowsRelaxedSimd()) return;
    const { process: process2 } = globalThis;
    const v8 = process2?.getBuiltinModule?.("node:v8");
    v8?.setFlagsFromString("--experimental-wasm-relaxed-simd");
  }
  /** Compiles in the background what `instanceIn` would compile at once. */
  async compile(simd, isShared) {
    const known = isShared ? this.#sharedModules : this.#modules;
    const module = known.get(simd) ?? await WebAssembly.compile(this.#bytesOf(simd, isShared));
    known.set(simd, module);
    return module;
  }
  /** The functions of the module, working in a memory. */
  instanceIn(memory, simd) {
    const ofMemory = this.#instances.get(memory) ?? /* @__PURE__ */ new Map();
    this.#instances.set(memory, ofMemory);
    let exports = ofMemory.get(simd);
    if (!exports) {
      const isShared = sharesMemory(memory);
      const known = isShared ? this.#sharedModules : this.#modules;
      const module = known.get(simd) ?? new WebAssembly.Module(this.#bytesOf(simd, isShared));
      known.set(simd, module);
      exports = new WebAssembly.Instance(module, { env: { memory } }).exports;
      ofMemory.set(simd, exports);
    }
    return exports;
  }
  #bytesOf(simd, isShared) {
    const bytes = Uint8Array.from(atob(this.#texts[simd]), (character) => character.charCodeAt(0));
    return isShared ? importingSharedMemory(bytes) : bytes;
  }
};
function importingSharedMemory(bytes) {
  const sectionStart = [1, 3, ...codes("env"), 6, ...codes("memory"), 2];
  const notShared = [0, 0];
  const shared2 = [3, 0, 128, 128, 4];
  const at = bytes.findIndex(
    (_, n) => [...sectionStart, ...notShared].every((byte, k) => bytes[n + k] === byte)
  );
  const end = at + sectionStart.length;
  const size = bytes[at - 1] + shared2.length - notShared.length;
  return Uint8Array.from([
    ...bytes.subarray(0, at - 1),
    size,
    ...sectionStart,
    ...shared2,
    ...bytes.subarray(end + notShared.length)
  ]);
}
function codes(text) {
  return Array.from(text, (character) => character.charCodeAt(0));
}

// packages/core/src/products/project.ts
import * as tf11 from "@tensorflow/tfjs-core";

// packages/core/src/backend/rows-without-gradient.ts
import * as tf10 from "@tensorflow/tfjs-core";
function zeroRowsWithoutGradient(x, gradient) {
  if (allBounded(x)) return x;
  return tf10.tidy(() => {
    const active = tf10.any(tf10.notEqual(gradient, 0), -1, true);
    return tf10.where(active, x, tf10.zerosLike(x));
  });
}

// packages/core/src/products/project.ts
function project(x, kernel, bias, options = {}) {
  const call = productCall(x, kernel, bias, options);
  const asked = options.products ?? defaultProducts();
  const products2 = asked.unsupported(call).length === 0 ? asked : tfjsProducts();
  return isTaped("project") ? withGradients(products2, call) : tf11.tidy(() => products2.run(call));
}
function productCall(x, weights, bias, { transposed: transposed2 = !(weights instanceof tf11.Tensor) }) {
  checkTensor("project", "x", x, ["[B, S, in]"]);
  if (!isStored(weights)) checkTensor("project", "kernel", weights, [transposed2 ? "[out, in]" : "[in, out]"]);
  const inDim = weights.shape[transposed2 ? 1 : 0];
  const outDim = weights.shape[transposed2 ? 0 : 1];
  const [B, S, width] = x.shape;
  if (width !== inDim || bias !== void 0 && (bias.rank !== 1 || bias.shape[0] !== outDim)) {
    const rule = `kernel must be ${transposed2 ? "[out, in]" : "[in, out]"}, and bias [out]`;
    throw new ShapeError("project", rule, { x, kernel: weights, bias });
  }
  return {
    x,
    weights,
    transposed: transposed2,
    bias,
    sizes: { rows: B * S, inDim, outDim }
  };
}
function isStored(weights) {
  return !(weights instanceof tf11.Tensor) && typeof weights?.toFloats === "function";
}
function withGradients(products2, call) {
  const { x, weights, bias } = call;
  const trained = weights instanceof tf11.Tensor ? [weights] : [];
  const inputs = [x, ...trained, ...bias ? [bias] : []];
  const callOf = (tensors) => ({
    ...call,
    x: tensors[0],
    weights: trained.length > 0 ? tensors[1] : weights,
    bias: bias && tensors.at(-1)
  });
  return differentiable(
    { inputs },
    (tensors) => tf11.tidy(() => products2.run(callOf(tensors))),
    (gradient, tensors) => {
      const active = zeroRowsWithoutGradient(tensors[0], gradient);
      const gradients = products2.gradients(callOf([active, ...tensors.slice(1)]), gradient);
      return [gradients.x, gradients.weights, gradients.bias].filter((of) => of !== void 0);
    }
  );
}

// packages/dense/src/dense-products.ts
import * as tf13 from "@tensorflow/tfjs-core";

// packages/dense/src/compiled.ts
var plain = "AGFzbQEAAAABQAhgBn9/f39/fwBgBX9/f39/AGAEf39/fwBgAX8BfGADf39/AGAEfX9/fwBgB39/f39/f38AYAh/f39/f39/fwACDwEDZW52Bm1lbW9yeQIAAAMNDAMEAQEFBgAAAAcCAgdQBw53b3Jrc3BhY2VCeXRlcwAACG11bHRpcGx5AAsIYWRkRWlnaHQAAgdhZGRGb3VyAAMIZm91clJvd3MACAdzaXhSb3dzAAcGbWVtb3J5AgAKsCgMYgEBfyAAKAIUQQRGBH8gACgCAEEDQQggACgCHEEERhtMBUEACwR8RAAAAAAAAAAABUHAAEGABCAAKAIAQeAATBsiASAAKAIIIgAgACABShtBB2pBCG1BwIABbEGAggxquAsLhgQDCn8EewF9IAAoAgQhCCAAKAIkIQogACgCCEECdCEHIAEhBQNAIAIgBUoEQCAAKAIYIAUgACgCIGxqIQQgBUECdCEJQQAhDANAIAwgACgCAEkEQCAEIQb9DAAAAAAAAAAAAAAAAAAAAAAhEP0MAAAAAAAAAAAAAAAAAAAAACEP/QwAAAAAAAAAAAAAAAAAAAAAIQ79DAAAAAAAAAAAAAAAAAAAAAAhDSAAKAIMIAwgACgCEGxqIgEgCEECdGohCwNAIAFBQGsiAyALTQRAIAH9AAQAIAb9AAQA/eYBIBD95AEhECAB/QAEECAG/QAEEP3mASAP/eQBIQ8gAf0ABCAgBv0ABCD95gEgDv3kASEOIAH9AAQwIAb9AAQw/eYBIA395AEhDSADIQEgBkFAayEGDAELCwNAIAFBEGoiAyALTQRAIAH9AAQAIAb9AAQA/eYBIBD95AEhECADIQEgBkEQaiEGDAELCyAQIA/95AEgDiAN/eQB/eQBIg0gDSAN/Q0ICQoLDA0ODwABAgMEBQYH/eQBIg39HwAgDf0fAZIhEQNAIAEgC0kEQCARIAEqAgAgBioCAJSSIREgAUEEaiEBIAZBBGohBgwBCwsgACgCKCAHIAxsaiAJaiAKBH0gESAJIApqKgIAkgUgEQs4AgAgDEEBaiEMDAELCyAFQQFqIQUMAQsLC50EAwh/AX0JeyADIARqIQwgAP0JAgAhDiAA/QkCBCEPIAD9CQIIIRAgAP0JAgwhESAA/QkCECESIAD9CQIUIRMgAP0JAhghFCAA/QkCHCEVIAEgAmoiBSACaiIGIAJqIgcgAmoiCCACaiIJIAJqIgogAmohCwNAIANBIGoiBCAMTQRAIBQgCv0ABBD95gEgEyAJ/QAEEP3mASASIAj9AAQQ/eYBIBEgB/0ABBD95gEgECAG/QAEEP3mASAPIAX9AAQQ/eYBIA4gAf0ABBD95gEgA/0ABBD95AH95AH95AH95AH95AH95AH95AEhFiADIBUgC/0ABAD95gEgFCAK/QAEAP3mASATIAn9AAQA/eYBIBIgCP0ABAD95gEgESAH/QAEAP3mASAQIAb9AAQA/eYBIA8gBf0ABAD95gEgDiAB/QAEAP3mASAD/QAEAP3kAf3kAf3kAf3kAf3kAf3kAf3kAf3kAf0LBAAgAyAVIAv9AAQQ/eYBIBb95AH9CwQQIAFBIGohASAFQSBqIQUgBkEgaiEGIAdBIGohByAIQSBqIQggCUEgaiEJIApBIGohCiALQSBqIQsgBCEDDAELCwNAIAMgDEkEQCADKgIAIQ0gASEEQQAhBQNAIAVBIEkEQCANIAAgBWoqAgAgBCoCAJSSIQ0gBUEEaiEFIAIgBGohBAwBCwsgAyANOAIAIANBBGohAyABQQRqIQEMAQsLC9oDAwh/AX0NeyAAKAIAIQkgACgCECEKIAAoAhwhBiAAKAIIQQJ0IQsgAyAEaiEMA0AgA0EgaiAMTQRAIAL9AAQAIQ4gAv0ABBAhDyACIAZqIgD9AAQAIRAgAP0ABBAhESAAIAZqIgD9AAQAIRIgAP0ABBAhEyAAIAZqIgD9AAQAIRQgAP0ABBAhFSABIQAgAyEEQQAhBQNAIAUgCUgEQCAA/QkCCCIWIBP95gEgAP0JAgQiFyAR/eYBIAD9CQIAIhggD/3mASAE/QAEEP3kAf3kAf3kASEZIAQgAP0JAgwiGiAU/eYBIBYgEv3mASAXIBD95gEgGCAO/eYBIAT9AAQA/eQB/eQB/eQB/eQB/QsEACAEIBogFf3mASAZ/eQB/QsEECAFQQFqIQUgACAKaiEAIAQgC2ohBAwBCwsgA0EgaiEDIAJBIGohAgwBCwsDQCADIAxJBEAgASEEIAMhAEEAIQgDQCAIIAlIBEAgACoCACENIAIhBUEAIQcDQCAHQRBJBEAgDSAEIAdqKgIAIAUqAgCUkiENIAdBBGohByAFIAZqIQUMAQsLIAAgDTgCACAIQQFqIQggBCAKaiEEIAAgC2ohAAwBCwsgA0EEaiEDIAJBBGohAgwBCwsLxgECAXsBfyACIANqIQUgAP0TIQQDQCACQUBrIgMgBU0EQCACIAQgAf0ABAD95gEgAv0ABAD95AH9CwQAIAIgBCAB/QAEEP3mASAC/QAEEP3kAf0LBBAgAiAEIAH9AAQg/eYBIAL9AAQg/eQB/QsEICACIAQgAf0ABDD95gEgAv0ABDD95AH9CwQwIAMhAiABQUBrIQEMAQsLA0AgAiAFSQRAIAIgAioCACAAIAEqAgCUkjgCACACQQRqIQIgAUEEaiEBDAELCwuiCAIEfwZ7IAMgBUgEQCAGIQcDQCAEIAhKBEBBACEJIAAhBgNAIAMgCUoEQCAHIAYqAgA4AgAgCUEBaiEJIAEgBmohBiAHQQRqIQcMAQsLA0AgBSAJSgRAIAdDAAAAADgCACAJQQFqIQkgB0EEaiEHDAELCyAIQQFqIQggACACaiEADAELCwUgBUECdCEDIAFBBEYEQANAIAQgB0oEQCAGIAD9AAQA/QsEACAFQQhGBEAgBiAA/QAEEP0LBBAFIAVBBkYEQCAGIAApAxA3AxALCyAHQQFqIQcgACACaiEAIAMgBmohBgwBCwsFA0AgCUEEaiAETARAIAYgAP0ABAAiCyAAIAFqIgj9AAQAIgz9DQABAgMQERITBAUGBxQVFhciDSABIAhqIgj9AAQAIg4gASAIav0ABAAiD/0NAAECAxAREhMEBQYHFBUWFyIQ/Q0AAQIDBAUGBxAREhMUFRYX/QsEACADIAZqIgggDSAQ/Q0ICQoLDA0ODxgZGhscHR4f/QsEACADIAhqIgggCyAM/Q0ICQoLGBkaGwwNDg8cHR4fIgsgDiAP/Q0ICQoLGBkaGwwNDg8cHR4fIgz9DQABAgMEBQYHEBESExQVFhf9CwQAIAMgCGogCyAM/Q0ICQoLDA0ODxgZGhscHR4f/QsEACAFQQhGBEAgBkEQaiIIIAAgAUECdGoiCv0ABAAiCyABIApqIgr9AAQAIgz9DQABAgMQERITBAUGBxQVFhciDSABIApqIgr9AAQAIg4gASAKav0ABAAiD/0NAAECAxAREhMEBQYHFBUWFyIQ/Q0AAQIDBAUGBxAREhMUFRYX/QsEACADIAhqIgggDSAQ/Q0ICQoLDA0ODxgZGhscHR4f/QsEACADIAhqIgggCyAM/Q0ICQoLGBkaGwwNDg8cHR4fIgsgDiAP/Q0ICQoLGBkaGwwNDg8cHR4fIgz9DQABAgMEBQYHEBESExQVFhf9CwQAIAMgCGogCyAM/Q0ICQoLDA0ODxgZGhscHR4f/QsEAAUgBUEGRgRAIAZBEGoiCCAAIAFBAnRqIgr9AAQAIgsgASAKav0ABAAiDP0NAAECAxAREhMEBQYHFBUWFyIN/VsDAAAgAyAIaiIIIA39WwMAASADIAhqIgggCyAM/Q0ICQoLGBkaGwwNDg8cHR4fIgv9WwMAACADIAhqIAv9WwMAAQsLIAlBBGohCSAAQRBqIQAgBiADQQJ0aiEGDAELCyAEIAlKBEAgBCAJayEEA0AgBCAHSgRAQQAhCCAAIQMDQCAFIAhKBEAgBiADKgIAOAIAIAhBAWohCCABIANqIQMgBkEEaiEGDAELCwNAIAUgCEoEQCAGQwAAAAA4AgAgCEEBaiEIIAZBBGohBgwBCwsgB0EBaiEHIAAgAmohAAwBCwsLCwsLXwAgACgCDCABIAAoAhAiAWxqIAMgACgCFCIDbGohAANAIAJBAEoEQCAAIAEgA0EEIAIgAkEEThsgBEEEIAUQBSAAIAFBAnRqIQAgBSAEQQR0aiEFIAJBBGshAgwBCwsLpgMBD3sgA/0ABAAiByERIAP9AAQQIgYhECAHIgshDyAGIgohDiAHIgkhDSAGIgghDCABIAJBBXRqIQIDQCABIAJJBEAgAP0JAgAiEiAB/QAEACIT/eYBIAf95AEhByASIAH9AAQQIhL95gEgBv3kASEGIAD9CQIEIhQgE/3mASAR/eQBIREgFCAS/eYBIBD95AEhECAA/QkCCCIUIBP95gEgC/3kASELIBQgEv3mASAK/eQBIQogAP0JAgwiFCAT/eYBIAn95AEhCSAUIBL95gEgCP3kASEIIAD9CQIQIhQgE/3mASAP/eQBIQ8gFCAS/eYBIA795AEhDiAA/QkCFCIUIBP95gEgDf3kASENIBQgEv3mASAM/eQBIQwgAEEYaiEAIAFBIGohAQwBCwsgBCAH/QsEACAEIAb9CwQQIAQgBWoiACAR/QsEACAAIBD9CwQQIAAgBWoiACAL/QsEACAAIAr9CwQQIAAgBWoiACAJ/QsEACAAIAj9CwQQIAAgBWoiACAP/QsEACAAIA79CwQQIAAgBWoiACAN/QsEACAAIAz9CwQQC7ACAQt7IAP9AAQAIgchDyAD/QAEECIGIQ4gByELIAYhCiAHIQkgBiEIIAEgAkEFdGohAgNAIAEgAkkEQCAA/QkCACIMIAH9AAQAIg395gEgB/3kASEHIAwgAf0ABBAiDP3mASAG/eQBIQYgAP0JAgQiECAN/eYBIA/95AEhDyAQIAz95gEgDv3kASEOIAD9CQIIIhAgDf3mASAL/eQBIQsgECAM/eYBIAr95AEhCiAA/QkCDCIQIA395gEgCf3kASEJIBAgDP3mASAI/eQBIQggAEEQaiEAIAFBIGohAQwBCwsgBCAH/QsEACAEIAb9CwQQIAQgBWoiACAP/QsEACAAIA79CwQQIAAgBWoiACAL/QsEACAAIAr9CwQQIAAgBWoiACAJ/QsEACAAIAj9CwQQC9gDAQ9/IAAoAghBAnQhFCABQUBrIQkgAUGAggxqIRMDQCAEIAVIBEACf0EIIAUgBGsiCCAIQQhKGyEWIAEgACgCJCIIRSAGQQBKcg0AGiAIIARBAnRqIgogFkEIRg0AGiABQSBqIgggCiAWQQJ0/AoAACAICyEPIAFBgAJqIRIgACgCKCACIBRsaiAEQQJ0aiEKIAMhCwNAIAtBAEoEQCAGRSIIBEAgC0EETiEICyAIBEAgFkEIRiEICyASIBMgByAPIAogCSAIGyAUQSAgCBsQCCAIRQRAIAkhCEEEIAsgC0EEThshDiAKIQwgBkEASiERQQAhEANAIA4gEEoEQAJAIBZBCEYEQCAMIBEEeyAM/QAEACAI/QAEAP3kAQUgCP0ABAAL/QsEACAMIBEEeyAM/QAEECAI/QAEEP3kAQUgCP0ABBAL/QsEEAwBC0EAIRUDQCAVIBZBAnRJBEAgDCAVaiINIAggFWoqAgAgEQR9IA0qAgAFQwAAAAALkjgCACAVQQRqIRUMAQsLCyAQQQFqIRAgCEEgaiEIIAwgFGohDAwBCwsLIBIgB0EEdGohEiAKIBRBAnRqIQogC0EEayELDAELCyAEQQhqIQQgE0HAgAFqIRMMAQsLC5oEAQ5/IAFBAEEg/AsAQcAAQYAEIAAoAgBB4ABMGyEKA0AgACgCBCIEIBBKBEBBgAQgBCAQayIEIARBgARKGyEPIAAoAgAiBEHgAEwEQCAAQQAgBCAQIA8gAUGAAmoQBgsgAiEEA0AgAyAESgRAIAMgCiAEIgZqIgUgAyAFSBshDiABQYCCDGohBSAAKAIgIQ0gACgCHCEMA0AgBiAOSARAIAAoAhggBiANbGogDCAQbGohEUEEQQEgDUEERiAGQSBqIA5McRsiCUEERgRAIAUhB0EAIQsDQCALIA9IBEAgByAR/QAEAP0LBAAgByAR/QAEEP0LBBAgB0HAgAFqIgggEf0ABCD9CwQAIAggEf0ABDD9CwQQIAhBwIABaiIIIBH9AARA/QsEACAIIBH9AARQ/QsEECAIQcCAAWoiCCAR/QAEYP0LBAAgCCAR/QAEcP0LBBAgC0EBaiELIAwgEWohESAHQSBqIQcMAQsLBSARIA0gDEEIIA4gBmsiByAHQQhKGyAPQQggBRAFCyAGIAlBA3RqIQYgBSAJQcCAAWxqIQUMAQsLQQAhBwNAIAAoAgAiBiAHSgRAQeAAIAYgB2siBSAFQeAAShshBSAGQeAASgRAIAAgByAFIBAgDyABQYACahAGCyAAIAEgByAFIAQgDiAQIA8QCSAHQeAAaiEHDAELCyAEIApqIQQMAQsLIBBBgARqIRAMAQsLC6sDAQV/IAAoAhRBBEYEfyAAKAIAQQNBCCAAKAIcQQRGG0wFQQALBEAgACgCHEEERgRAIAAgAiADEAEFIAAoAghBAnQhBiADIAJrQQJ0IQggACgCKCACQQJ0aiEFQQAhAwNAIAMgACgCAEkEQCAAKAIkIgEEQCAFIAMgBmxqIAEgAkECdGogCPwKAAAFIAUgAyAGbGpBACAI/AsACyADQQFqIQMMAQsLIAAoAgBBAUoEf0EEBUEIQQEgCEGAwABLGwshASAAKAIcIQcgACgCGCACQQJ0aiECIAAoAgwhAwNAIAAoAgQgASAEak4EQCABQQhGBEAgAyACIAcgBSAIEAIFIAFBBEYEQCAAIAMgAiAFIAgQAwUgAyoCACACIAUgCBAECwsgAiABIAdsaiECIAEgBGohBCADIAFBAnRqIQMMAQsLA0AgBCAAKAIESARAQQAhAQNAIAEgACgCAEkEQCADIAEgACgCEGxqKgIAIAIgBSABIAZsaiAIEAQgAUEBaiEBDAELCyAEQQFqIQQgA0EEaiEDIAIgB2ohAgwBCwsLBSAAIAEgAiADEAoLCw==";
var relaxed = "AGFzbQEAAAABOgdgBn9/f39/fwBgBX9/f39/AGAEf39/fwBgAX8BfGAEfX9/fwBgB39/f39/f38AYAh/f39/f39/fwACDwEDZW52Bm1lbW9yeQIAAAMMCwMBAQQFAAAABgICB1AHDndvcmtzcGFjZUJ5dGVzAAAIbXVsdGlwbHkACghhZGRFaWdodAABB2FkZEZvdXIAAghmb3VyUm93cwAHB3NpeFJvd3MABgZtZW1vcnkCAArMJwtiAQF/IAAoAhRBBEYEfyAAKAIAQQNBCCAAKAIcQQRGG0wFQQALBHxEAAAAAAAAAAAFQcAAQYAEIAAoAgBB4ABMGyIBIAAoAggiACAAIAFKG0EHakEIbUHAgAFsQYCCDGq4CwvtAwMIfwF9CXsgAyAEaiEMIAD9CQIAIQ4gAP0JAgQhDyAA/QkCCCEQIAD9CQIMIREgAP0JAhAhEiAA/QkCFCETIAD9CQIYIRQgAP0JAhwhFSABIAJqIgUgAmoiBiACaiIHIAJqIgggAmoiCSACaiIKIAJqIQsDQCADQSBqIgQgDE0EQCAUIAr9AAQQIBMgCf0ABBAgEiAI/QAEECARIAf9AAQQIBAgBv0ABBAgDyAF/QAEECAOIAH9AAQQIAP9AAQQ/YUC/YUC/YUC/YUC/YUC/YUC/YUCIRYgAyAVIAv9AAQAIBQgCv0ABAAgEyAJ/QAEACASIAj9AAQAIBEgB/0ABAAgECAG/QAEACAPIAX9AAQAIA4gAf0ABAAgA/0ABAD9hQL9hQL9hQL9hQL9hQL9hQL9hQL9hQL9CwQAIAMgFSAL/QAEECAW/YUC/QsEECABQSBqIQEgBUEgaiEFIAZBIGohBiAHQSBqIQcgCEEgaiEIIAlBIGohCSAKQSBqIQogC0EgaiELIAQhAwwBCwsDQCADIAxJBEAgAyoCACENIAEhBEEAIQUDQCAFQSBJBEAgDSAAIAVqKgIAIAQqAgCUkiENIAVBBGohBSACIARqIQQMAQsLIAMgDTgCACADQQRqIQMgAUEEaiEBDAELCwvCAwMIfwF9DXsgACgCACEJIAAoAhAhCiAAKAIcIQYgACgCCEECdCELIAMgBGohDANAIANBIGogDE0EQCAC/QAEACEOIAL9AAQQIQ8gAiAGaiIA/QAEACEQIAD9AAQQIREgACAGaiIA/QAEACESIAD9AAQQIRMgACAGaiIA/QAEACEUIAD9AAQQIRUgASEAIAMhBEEAIQUDQCAFIAlIBEAgAP0JAggiFiATIAD9CQIEIhcgESAA/QkCACIYIA8gBP0ABBD9hQL9hQL9hQIhGSAEIAD9CQIMIhogFCAWIBIgFyAQIBggDiAE/QAEAP2FAv2FAv2FAv2FAv0LBAAgBCAaIBUgGf2FAv0LBBAgBUEBaiEFIAAgCmohACAEIAtqIQQMAQsLIANBIGohAyACQSBqIQIMAQsLA0AgAyAMSQRAIAEhBCADIQBBACEIA0AgCCAJSARAIAAqAgAhDSACIQVBACEHA0AgB0EQSQRAIA0gBCAHaioCACAFKgIAlJIhDSAHQQRqIQcgBSAGaiEFDAELCyAAIA04AgAgCEEBaiEIIAQgCmohBCAAIAtqIQAMAQsLIANBBGohAyACQQRqIQIMAQsLC7oBAgF7AX8gAiADaiEFIAD9EyEEA0AgAkFAayIDIAVNBEAgAiAEIAH9AAQAIAL9AAQA/YUC/QsEACACIAQgAf0ABBAgAv0ABBD9hQL9CwQQIAIgBCAB/QAEICAC/QAEIP2FAv0LBCAgAiAEIAH9AAQwIAL9AAQw/YUC/QsEMCADIQIgAUFAayEBDAELCwNAIAIgBUkEQCACIAIqAgAgACABKgIAlJI4AgAgAkEEaiECIAFBBGohAQwBCwsLoggCBH8GeyADIAVIBEAgBiEHA0AgBCAISgRAQQAhCSAAIQYDQCADIAlKBEAgByAGKgIAOAIAIAlBAWohCSABIAZqIQYgB0EEaiEHDAELCwNAIAUgCUoEQCAHQwAAAAA4AgAgCUEBaiEJIAdBBGohBwwBCwsgCEEBaiEIIAAgAmohAAwBCwsFIAVBAnQhAyABQQRGBEADQCAEIAdKBEAgBiAA/QAEAP0LBAAgBUEIRgRAIAYgAP0ABBD9CwQQBSAFQQZGBEAgBiAAKQMQNwMQCwsgB0EBaiEHIAAgAmohACADIAZqIQYMAQsLBQNAIAlBBGogBEwEQCAGIAD9AAQAIgsgACABaiII/QAEACIM/Q0AAQIDEBESEwQFBgcUFRYXIg0gASAIaiII/QAEACIOIAEgCGr9AAQAIg/9DQABAgMQERITBAUGBxQVFhciEP0NAAECAwQFBgcQERITFBUWF/0LBAAgAyAGaiIIIA0gEP0NCAkKCwwNDg8YGRobHB0eH/0LBAAgAyAIaiIIIAsgDP0NCAkKCxgZGhsMDQ4PHB0eHyILIA4gD/0NCAkKCxgZGhsMDQ4PHB0eHyIM/Q0AAQIDBAUGBxAREhMUFRYX/QsEACADIAhqIAsgDP0NCAkKCwwNDg8YGRobHB0eH/0LBAAgBUEIRgRAIAZBEGoiCCAAIAFBAnRqIgr9AAQAIgsgASAKaiIK/QAEACIM/Q0AAQIDEBESEwQFBgcUFRYXIg0gASAKaiIK/QAEACIOIAEgCmr9AAQAIg/9DQABAgMQERITBAUGBxQVFhciEP0NAAECAwQFBgcQERITFBUWF/0LBAAgAyAIaiIIIA0gEP0NCAkKCwwNDg8YGRobHB0eH/0LBAAgAyAIaiIIIAsgDP0NCAkKCxgZGhsMDQ4PHB0eHyILIA4gD/0NCAkKCxgZGhsMDQ4PHB0eHyIM/Q0AAQIDBAUGBxAREhMUFRYX/QsEACADIAhqIAsgDP0NCAkKCwwNDg8YGRobHB0eH/0LBAAFIAVBBkYEQCAGQRBqIgggACABQQJ0aiIK/QAEACILIAEgCmr9AAQAIgz9DQABAgMQERITBAUGBxQVFhciDf1bAwAAIAMgCGoiCCAN/VsDAAEgAyAIaiIIIAsgDP0NCAkKCxgZGhsMDQ4PHB0eHyIL/VsDAAAgAyAIaiAL/VsDAAELCyAJQQRqIQkgAEEQaiEAIAYgA0ECdGohBgwBCwsgBCAJSgRAIAQgCWshBANAIAQgB0oEQEEAIQggACEDA0AgBSAISgRAIAYgAyoCADgCACAIQQFqIQggASADaiEDIAZBBGohBgwBCwsDQCAFIAhKBEAgBkMAAAAAOAIAIAhBAWohCCAGQQRqIQYMAQsLIAdBAWohByAAIAJqIQAMAQsLCwsLC3QBAX8gACgCDCAAKAIQIgYgAWxqIAMgACgCFCIAbGohAQNAIAJBAEoEQCABIAYgACACQQZBBCACQQhHIAJBBEpxGyIDIAIgA0gbIAQgAyAFEAQgASADIAZsaiEBIAUgAyAEbEECdGohBSACIANrIQIMAQsLC4IDAQ97IAP9AAQAIgchESAD/QAEECIGIRAgByILIQ8gBiIKIQ4gByIJIQ0gBiIIIQwgASACQQV0aiECA0AgASACSQRAIAD9CQIAIhIgAf0ABAAiEyAH/YUCIQcgEiAB/QAEECISIAb9hQIhBiAA/QkCBCIUIBMgEf2FAiERIBQgEiAQ/YUCIRAgAP0JAggiFCATIAv9hQIhCyAUIBIgCv2FAiEKIAD9CQIMIhQgEyAJ/YUCIQkgFCASIAj9hQIhCCAA/QkCECIUIBMgD/2FAiEPIBQgEiAO/YUCIQ4gAP0JAhQiFCATIA39hQIhDSAUIBIgDP2FAiEMIABBGGohACABQSBqIQEMAQsLIAQgB/0LBAAgBCAG/QsEECAEIAVqIgAgEf0LBAAgACAQ/QsEECAAIAVqIgAgC/0LBAAgACAK/QsEECAAIAVqIgAgCf0LBAAgACAI/QsEECAAIAVqIgAgD/0LBAAgACAO/QsEECAAIAVqIgAgDf0LBAAgACAM/QsEEAuYAgELeyAD/QAEACIHIQ8gA/0ABBAiBiEOIAchCyAGIQogByEJIAYhCCABIAJBBXRqIQIDQCABIAJJBEAgAP0JAgAiDCAB/QAEACINIAf9hQIhByAMIAH9AAQQIgwgBv2FAiEGIAD9CQIEIhAgDSAP/YUCIQ8gECAMIA79hQIhDiAA/QkCCCIQIA0gC/2FAiELIBAgDCAK/YUCIQogAP0JAgwiECANIAn9hQIhCSAQIAwgCP2FAiEIIABBEGohACABQSBqIQEMAQsLIAQgB/0LBAAgBCAG/QsEECAEIAVqIgAgD/0LBAAgACAO/QsEECAAIAVqIgAgC/0LBAAgACAK/QsEECAAIAVqIgAgCf0LBAAgACAI/QsEEAuOBAEQfyAAKAIIQQJ0IQ4gAUFAayEMIAFBgIIMaiERA0AgBCAFSARAAn9BCCAFIARrIgggCEEIShshDyABIAAoAiQiCEUgBkEASnINABogCCAEQQJ0aiIIIA9BCEYNABogAUEgaiIJIAggD0ECdPwKAAAgCQshFSABQYACaiESIAAoAiggAiAObGogBEECdGohCyADIQkDQCAJQQBKBEBBBkEEIAlBCEcgCUEESnEbIQ0gBkUiCARAIAkgDU4hCAsgCARAIA9BCEYhCAsgDUEGRgRAIBIgESAHIBUgCyAMIAgbIA5BICAIGxAGBSASIBEgByAVIAsgDCAIGyAOQSAgCBsQBwsgCEUEQCAMIQogCSANIAkgDUgbIRYgCyEIIAZBAEohE0EAIRQDQCAUIBZIBEACQCAPQQhGBEAgCCATBHsgCP0ABAAgCv0ABAD95AEFIAr9AAQAC/0LBAAgCCATBHsgCP0ABBAgCv0ABBD95AEFIAr9AAQQC/0LBBAMAQtBACEQA0AgECAPQQJ0SQRAIAggEGoiFyAKIBBqKgIAIBMEfSAXKgIABUMAAAAAC5I4AgAgEEEEaiEQDAELCwsgFEEBaiEUIApBIGohCiAIIA5qIQgMAQsLCyASIAcgDWxBAnRqIRIgCyANIA5saiELIAkgDWshCQwBCwsgBEEIaiEEIBFBwIABaiERDAELCwuaBAEOfyABQQBBIPwLAEHAAEGABCAAKAIAQeAATBshCgNAIAAoAgQiBCAQSgRAQYAEIAQgEGsiBCAEQYAEShshDyAAKAIAIgRB4ABMBEAgAEEAIAQgECAPIAFBgAJqEAULIAIhBANAIAMgBEoEQCADIAogBCIGaiIFIAMgBUgbIQ4gAUGAggxqIQUgACgCICENIAAoAhwhDANAIAYgDkgEQCAAKAIYIAYgDWxqIAwgEGxqIRFBBEEBIA1BBEYgBkEgaiAOTHEbIglBBEYEQCAFIQdBACELA0AgCyAPSARAIAcgEf0ABAD9CwQAIAcgEf0ABBD9CwQQIAdBwIABaiIIIBH9AAQg/QsEACAIIBH9AAQw/QsEECAIQcCAAWoiCCAR/QAEQP0LBAAgCCAR/QAEUP0LBBAgCEHAgAFqIgggEf0ABGD9CwQAIAggEf0ABHD9CwQQIAtBAWohCyAMIBFqIREgB0EgaiEHDAELCwUgESANIAxBCCAOIAZrIgcgB0EIShsgD0EIIAUQBAsgBiAJQQN0aiEGIAUgCUHAgAFsaiEFDAELC0EAIQcDQCAAKAIAIgYgB0oEQEHgACAGIAdrIgUgBUHgAEobIQUgBkHgAEoEQCAAIAcgBSAQIA8gAUGAAmoQBQsgACABIAcgBSAEIA4gECAPEAggB0HgAGohBwwBCwsgBCAKaiEEDAELCyAQQYAEaiEQDAELCwuUBwMJfwF9BHsgACgCFEEERgR/IAAoAgBBA0EIIAAoAhxBBEYbTAVBAAsEQCAAKAIcQQRGBEAgACIFKAIEIQkgACgCJCELIAAoAghBAnQhCANAIAIgA0gEQCAFKAIYIAIgBSgCIGxqIQQgAkECdCEKQQAhDANAIAwgBSgCAEkEQCAEIQb9DAAAAAAAAAAAAAAAAAAAAAAhEP0MAAAAAAAAAAAAAAAAAAAAACEP/QwAAAAAAAAAAAAAAAAAAAAAIQ79DAAAAAAAAAAAAAAAAAAAAAAhESAFKAIMIAwgBSgCEGxqIgAgCUECdGohBwNAIABBQGsiASAHTQRAIAD9AAQAIAb9AAQAIBD9hQIhECAA/QAEECAG/QAEECAP/YUCIQ8gAP0ABCAgBv0ABCAgDv2FAiEOIAD9AAQwIAb9AAQwIBH9hQIhESABIQAgBkFAayEGDAELCwNAIABBEGoiASAHTQRAIAD9AAQAIAb9AAQAIBD9hQIhECABIQAgBkEQaiEGDAELCyAQIA/95AEgDiAR/eQB/eQBIg4gDiAO/Q0ICQoLDA0ODwABAgMEBQYH/eQBIg79HwAgDv0fAZIhDQNAIAAgB0kEQCANIAAqAgAgBioCAJSSIQ0gAEEEaiEAIAZBBGohBgwBCwsgBSgCKCAIIAxsaiAKaiALBH0gDSAKIAtqKgIAkgUgDQs4AgAgDEEBaiEMDAELCyACQQFqIQIMAQsLBSAAKAIIQQJ0IQggAyACa0ECdCEHIAAoAiggAkECdGohBUEAIQMDQCADIAAoAgBJBEAgACgCJCIBBEAgBSADIAhsaiABIAJBAnRqIAf8CgAABSAFIAMgCGxqQQAgB/wLAAsgA0EBaiEDDAELCyAAKAIAQQFKBH9BBAVBCEEBIAdBgMAASxsLIQEgACgCHCEEIAAoAhggAkECdGohAiAAKAIMIQMDQCAAKAIEIAEgBmpOBEAgAUEIRgRAIAMgAiAEIAUgBxABBSABQQRGBEAgACADIAIgBSAHEAIFIAMqAgAgAiAFIAcQAwsLIAIgASAEbGohAiABIAZqIQYgAyABQQJ0aiEDDAELCwNAIAYgACgCBEgEQEEAIQEDQCABIAAoAgBJBEAgAyABIAAoAhBsaioCACACIAUgASAIbGogBxADIAFBAWohAQwBCwsgBkEBaiEGIANBBGohAyACIARqIQIMAQsLCwUgACABIAIgAxAJCws=";
var structures = {
  Product: { rows: "i32", terms: "i32", columns: "i32", left: "usize", leftRow: "usize", leftTerm: "usize", right: "usize", rightTerm: "usize", rightColumn: "usize", bias: "usize", to: "usize" }
};

// packages/dense/src/module.ts
var modules = /* @__PURE__ */ new WasmModules({ plain, relaxed });

// packages/dense/src/multiply-on-heap.ts
import "@tensorflow/tfjs-core";
function byRows(tensor, terms) {
  return { tensor, lineStep: terms, termStep: 1 };
}
function byColumns(tensor, lines) {
  return { tensor, lineStep: 1, termStep: lines };
}
function multiplyOnHeap(kernelIn, shape, multiplication) {
  const result = emptyOnHeap(shape);
  const memory = heapMemory();
  const kernel = kernelIn(memory);
  const product = productIn(memory);
  writeProduct(memory, product, multiplication, addressOnHeap(result));
  const { columns } = multiplication.sizes;
  const workspaceBytes = kernel.workspaceBytes(product);
  const workspace = workspaceBytes > 0 ? allocateOnHeap(workspaceBytes) : 0;
  kernel.multiply(product, workspace, 0, columns);
  if (workspace > 0) freeOnHeap(workspace);
  return result;
}
var productOf2 = /* @__PURE__ */ new WeakMap();
function productIn(memory) {
  const known = productOf2.get(memory);
  if (known !== void 0) return known;
  const address = allocateOnHeap(Object.keys(structures.Product).length * 4);
  productOf2.set(memory, address);
  return address;
}
function writeProduct(memory, product, { sizes: { rows, terms, columns }, left, right, bias }, to) {
  const [ofLeft, ofRight] = [addressOnHeap(left.tensor), addressOnHeap(right.tensor)];
  const ofBias = bias ? addressOnHeap(bias) : 0;
  const steps = [left.lineStep * 4, left.termStep * 4, right.termStep * 4, right.lineStep * 4];
  const words = new Int32Array(memory.buffer, product, 11);
  words[0] = rows;
  words[1] = terms;
  words[2] = columns;
  words[3] = ofLeft;
  words[4] = steps[0];
  words[5] = steps[1];
  words[6] = ofRight;
  words[7] = steps[2];
  words[8] = steps[3];
  words[9] = ofBias;
  words[10] = to;
}

// packages/dense/src/dense-products.ts
var denseProducts = /* @__PURE__ */ withKind("denseProducts", ["options"], makeDenseProducts);
function makeDenseProducts(options = {}) {
  const known = normalizeOptions("denseProducts", "options", options, ["relaxedSimd"]);
  const simd = modules.choose("denseProducts", known.relaxedSimd ?? "auto");
  const kernelIn = (memory) => modules.instanceIn(memory, simd());
  const multiply = (shape, multiplication) => multiplyOnHeap(kernelIn, shape, multiplication);
  return {
    name: "denseProducts",
    prepare: async () => void await modules.compile(simd(), false),
    unsupported: reasonsAgainst,
    notes: () => [`${simd()} SIMD, one thread`],
    run: (call) => isEmpty(call) ? tfjsProducts().run(call) : productOf3(call, multiply),
    gradients: (call, gradient) => isEmpty(call) ? tfjsProducts().gradients(call, gradient) : gradientsOf2(call, gradient, multiply),
    toJSON: () => ({ kind: "denseProducts", options: known })
  };
}
function reasonsAgainst({ weights }) {
  return [
    ...reasonsWithoutHeap("tfjsProducts()"),
    ...weights instanceof tf13.Tensor ? [] : [`weights in format "${weights.format}" are not read as they lie`]
  ];
}
function isEmpty({ sizes: { rows, inDim, outDim } }) {
  return rows * inDim * outDim === 0;
}
function productOf3(call, multiply) {
  const { x, weights, bias, transposed: transposed2 } = call;
  const { rows, inDim, outDim } = call.sizes;
  const matrix = weights;
  return multiply([x.shape[0], x.shape[1], outDim], {
    sizes: { rows, terms: inDim, columns: outDim },
    left: byRows(x, inDim),
    right: transposed2 ? byRows(matrix, inDim) : byColumns(matrix, outDim),
    bias
  });
}
function gradientsOf2(call, gradient, multiply) {
  const { x, weights, bias, transposed: transposed2 } = call;
  const { rows, inDim, outDim } = call.sizes;
  const matrix = weights;
  const [outer, outerDim, inner, innerDim] = transposed2 ? [gradient, outDim, x, inDim] : [x, inDim, gradient, outDim];
  return {
    x: multiply(x.shape, {
      sizes: { rows, terms: outDim, columns: inDim },
      left: byRows(gradient, outDim),
      right: transposed2 ? byColumns(matrix, inDim) : byRows(matrix, outDim)
    }),
    weights: multiply([outerDim, innerDim], {
      sizes: { rows: outerDim, terms: rows, columns: innerDim },
      left: byColumns(outer, outerDim),
      right: byColumns(inner, innerDim)
    }),
    ...bias && {
      bias: multiply([outDim], {
        sizes: { rows: 1, terms: rows, columns: outDim },
        left: byRows(tf13.ones([rows]), rows),
        right: byColumns(gradient, outDim)
      })
    }
  };
}

// scratch2.ts
await tf14.setBackend("wasm");
var plain2 = denseProducts({ relaxedSimd: false });
var relaxed2 = denseProducts({ relaxedSimd: true });
var own = tfjsProducts();
var cpu = () => {
  const u = process.cpuUsage();
  return (u.user + u.system) / 1e3;
};
function contest(name, fs, flop, rounds, reps) {
  const times2 = {};
  for (const f of Object.values(fs)) f();
  for (let r = 0; r < rounds; r++) for (const [n, f] of Object.entries(fs)) {
    const t = cpu();
    for (let i = 0; i < reps; i++) f();
    (times2[n] ??= []).push((cpu() - t) / reps);
  }
  const best = (n) => Math.min(...times2[n]);
  const med = (n) => times2[n].sort((a, b) => a - b)[times2[n].length >> 1];
  const base = Object.keys(fs)[0];
  console.log(name.padEnd(28), Object.keys(fs).map((n) => `${n} ${best(n).toFixed(3)}ms ${(flop / best(n) / 1e6).toFixed(1)}GF x${(best(base) / best(n)).toFixed(2)} (med x${(med(base) / med(n)).toFixed(2)})`).join(" | "));
}
var sel = process.argv[2];
var rnd = (s, k = 1) => tf14.randomNormal(s, 0, 1, "float32", k);
if (!sel || sel.includes("f")) for (const [R, I, O, rounds, reps] of [[2048, 512, 512, 10, 1], [2048, 512, 2048, 5, 1], [512, 576, 576, 10, 3], [64, 512, 512, 20, 10], [16, 512, 512, 20, 40], [16, 576, 1536, 20, 20], [8, 512, 512, 20, 40], [4, 512, 512, 20, 40], [2, 512, 512, 20, 60], [1, 512, 512, 20, 100], [1, 576, 576, 20, 100], [1, 128, 128, 20, 400], [1, 4096, 4096, 10, 2], [4, 4096, 4096, 6, 1], [16, 4096, 4096, 6, 1]]) {
  const x = rnd([1, R, I]), w = tf14.variable(rnd([I, O], 2));
  contest(`${R}x${I}x${O}`, { tf: () => tf14.tidy(() => void tf14.matMul(x, w)), plain: () => project(x, w, void 0, { products: plain2 }).dispose(), relaxed: () => project(x, w, void 0, { products: relaxed2 }).dispose() }, 2 * R * I * O, rounds, reps);
  x.dispose();
  w.dispose();
}
if (!sel || sel.includes("t")) for (const [R, I, O, rounds, reps] of [[1, 576, 49152, 5, 1], [16, 576, 49152, 3, 1], [512, 512, 8192, 3, 1]]) {
  const x = rnd([1, R, I]), w = tf14.variable(rnd([O, I], 2));
  const o = (products2) => () => project(x, w, void 0, { products: products2, transposed: true }).dispose();
  contest(`table ${R}x${I}x${O}`, { tf: o(own), plain: o(plain2), relaxed: o(relaxed2) }, 2 * R * I * O, rounds, reps);
  x.dispose();
  w.dispose();
}
if (!sel || sel.includes("g")) for (const [R, I, O, rounds, reps] of [[2048, 512, 512, 6, 1], [512, 576, 1536, 6, 1], [64, 512, 512, 10, 5]]) {
  const x = rnd([1, R, I]), w = tf14.variable(rnd([I, O], 2)), g = rnd([1, R, O], 3);
  const call = { x, weights: w, transposed: false, sizes: { rows: R, inDim: I, outDim: O } };
  const o = (p) => () => tf14.tidy(() => void p.gradients(call, g));
  contest(`grads ${R}x${I}x${O}`, { tf: o(own), plain: o(plain2), relaxed: o(relaxed2) }, 4 * R * I * O, rounds, reps);
  x.dispose();
  w.dispose();
}
