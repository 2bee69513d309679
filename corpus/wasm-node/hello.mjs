import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";

const wasi = new WASI({ version: "preview1" });
const module = new WebAssembly.Module(readFileSync("hello.wasm"));
wasi.start(new WebAssembly.Instance(module, wasi.getImportObject()));
