import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The content policy of the page: nothing inline, nothing from elsewhere.
export default defineConfig({
  base: "./", // the server says where the files are: it may be mounted anywhere
  plugins: [react()],
  publicDir: "public",
  build: {
    outDir: "../turnlog/site",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    cssCodeSplit: false,
    reportCompressedSize: false,
    rollupOptions: {
      input: { index: "index.html" },
      output: {
        entryFileNames: "assets/[name]-[hash].js",
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
      },
    },
  },
});
