/** `npm run build`: one self-contained file, `dist/gpu-rent.mjs`, for the package and the image. */
import { chmodSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { lazyBuiltins } from './build/lazy-builtins.ts';
import { slimDependencies } from './build/slim-dependencies.ts';

const repository = join(import.meta.dirname, '..');
const outdir = join(repository, 'dist');

/** Dependencies in CommonJS ask for `require`, which a module does not have. */
const REQUIRE_FOR_COMMONJS =
  "import { createRequire as makeRequire } from 'node:module';const require = makeRequire(import.meta.url);";

rmSync(outdir, { recursive: true, force: true });
await build({
  entryPoints: [join(repository, 'src', 'cli', 'main.ts')],
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node22.22',
  format: 'esm',
  outdir,
  entryNames: 'gpu-rent',
  outExtension: { '.js': '.mjs' },
  banner: { js: REQUIRE_FOR_COMMONJS },
  // Kubeconfig loading is all we use of it; its index would bring every generated API.
  alias: {
    '@kubernetes/client-node': join(repository, 'node_modules/@kubernetes/client-node/dist/config.js'),
  },
  plugins: [lazyBuiltins, slimDependencies(repository)],
  legalComments: 'linked',
  logLevel: 'warning',
});
const bundle = join(outdir, 'gpu-rent.mjs');
chmodSync(bundle, 0o755);
process.stdout.write(`dist/gpu-rent.mjs: ${(statSync(bundle).size / 1024).toFixed(0)} kB\n`);
