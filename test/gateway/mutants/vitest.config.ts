import { defineConfig } from 'vitest/config';

/** Tests of the gateway that need no cluster, one file at a time, each within a time in which a mutant that hangs ends. */
export default defineConfig({
  test: {
    include: ['src/gateway/*.test.ts', 'test/gateway/*.test.ts'],
    exclude: ['**/{gateway-comparison,grpc-server}.test.ts', '**/*.verify.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    teardownTimeout: 5_000,
    strictTags: false,
    fileParallelism: false,
    isolate: false,
    bail: 1,
  },
});
