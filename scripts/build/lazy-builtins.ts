import { builtinModules } from 'node:module';
import type { Plugin } from 'esbuild';

/**
 * Loads modules of Node where code first uses them. In one bundle their imports would all move to the top, and
 * `--help` would wait for the HTTP, TLS and SQLite of commands that it does not run.
 */
export const lazyBuiltins: Plugin = {
  name: 'lazy-builtins',
  setup(build) {
    const names = new Set(builtinModules);
    build.onResolve({ filter: /^(node:|[a-z_]+$|[a-z_]+\/[a-z]+$)/ }, ({ path, kind }) => {
      const isBuiltin = path.startsWith('node:') || names.has(path);
      return isBuiltin && kind === 'import-statement' ? { path, namespace: 'builtin' } : undefined;
    });
    build.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)});`,
      loader: 'js',
    }));
  },
};
