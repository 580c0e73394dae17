import { defineConfig } from 'vitest/config';

/** Tests that run against mutated pure files: the tables of decisions, in one process. */
export default defineConfig({
  test: {
    include: [
      'src/{lib,ownership,instance,accounts}/**/*.test.ts',
      'src/controllers/{gpu-instance,endpoint-group,marketplace-account,orphan-sweep}/**/*.test.ts',
      'src/market/{pacing,slow-down}.test.ts',
      'src/markets/vast/offers/*.test.ts',
      'src/runtime/work-queue.test.ts',
    ],
    exclude: ['**/*.integration.test.ts'],
    strictTags: false,
    isolate: false,
    testTimeout: 60_000,
  },
});
