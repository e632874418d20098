export { type FlashWasmOptions, flashWasm } from './wasm/flash-wasm';
