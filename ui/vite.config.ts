import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = "http://127.0.0.1:8321";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/planwerk/server/static",
    emptyOutDir: true,
    // Nothing becomes a data: or inline script, so the page works under `script-src 'self'; font-src 'self'`.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    proxy: Object.fromEntries(["/api", "/v1", "/health", "/signin"].map((path) => [path, { target: server }])),
  },
  test: {
    environment: "jsdom",
    setupFiles: ["src/testing/setup.ts"],
    css: false,
    restoreMocks: true,
  },
});
