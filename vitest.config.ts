import { defineConfig } from 'vitest/config';

/**
 * Five projects: `unit` needs nothing and runs in seconds; `integration` shares one real API server, which its
 * global set-up starts (test/cluster); `node` shares a cluster that runs Pods, and `docker` uses a Docker engine: both
 * skip their tests where there can be none; `verify` asks other projects' programs, which take long to build.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [
            '**/node_modules/**',
            '**/*.integration.test.ts',
            '**/*.node.test.ts',
            '**/*.docker.test.ts',
            '**/*.verify.test.ts',
            'test/lint/planted/**',
          ],
          setupFiles: ['test/builders/property-seed.ts'],
          tags: [
            {
              name: 'long',
              description: 'A property or a measurement of seconds: `make check` leaves it out.',
            },
          ],
          // No test leaves anything behind in its process, and modules are read once instead of 170 times.
          isolate: false,
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['src/**/*.integration.test.ts', 'test/**/*.integration.test.ts'],
          exclude: ['**/node_modules/**'],
          globalSetup: ['test/cluster/global-setup.ts'],
          setupFiles: ['test/builders/property-seed.ts'],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'node',
          include: ['test/**/*.node.test.ts'],
          exclude: ['**/node_modules/**'],
          globalSetup: ['test/cluster/node/global-setup.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'docker',
          include: ['test/**/*.docker.test.ts'],
          exclude: ['**/node_modules/**'],
          globalSetup: ['test/containers/global-setup.ts'],
          testTimeout: 120_000,
          // The first one makes the image.
          hookTimeout: 15 * 60_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'verify',
          include: ['test/**/*.verify.test.ts'],
          exclude: ['**/node_modules/**'],
          testTimeout: 300_000,
          // The first run of a program builds it.
          hookTimeout: 30 * 60_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
