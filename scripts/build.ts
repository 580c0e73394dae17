/**
 * `npm run build`: the command `dist/gpu-rent.mjs`, the program that it loads, the relay, the SSH client that the program loads
 * for leases and the protocol that it loads for agents, all without dependencies (also for the image, which preloads `dist/hold-signals.mjs`), and the modules that the package exports, `dist/client.mjs` and `dist/simulator.mjs`, with
 * their declarations in `dist/types`, which need no other package.
 */
import { chmodSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { buildPage, PAGE_FILES } from '../src/ui/build-page.ts';
import { bundledPackages, modulesOf, noticesText } from './build/bundled-packages.ts';
import { writeDeclarations } from './build/declarations.ts';
import { lazyBuiltins } from './build/lazy-builtins.ts';
import { COMMAND, MCP_SERVER, NOTICES, PACKAGES, PROGRAM, RELAY, SSH_CLIENT } from './build/program-files.ts';
import { slimDependencies } from './build/slim-dependencies.ts';

const repository = join(import.meta.dirname, '..');
const outdir = join(repository, 'dist');

/** Names that dependencies in CommonJS read, and that a module does not have. */
const NAMES_FOR_COMMONJS =
  "import { createRequire as makeRequire } from 'node:module';const require = makeRequire(import.meta.url), __dirname = import.meta.dirname;";

const modules: string[] = [];
/** Builds files, and keeps the list of their modules. */
async function bundle(options: BuildOptions): Promise<void> {
  const { metafile } = await build({ ...options, absWorkingDir: repository, metafile: true });
  modules.push(...modulesOf(metafile));
}

rmSync(outdir, { recursive: true, force: true });
const COMMON: BuildOptions = {
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node22.22',
  format: 'esm',
  outdir,
  entryNames: '[name]',
  outExtension: { '.js': '.mjs' },
  banner: { js: NAMES_FOR_COMMONJS },
  // Kubeconfig loading is all we use of it; its index would bring every generated API.
  alias: {
    '@kubernetes/client-node': join(repository, 'node_modules/@kubernetes/client-node/dist/config.js'),
  },
  plugins: [lazyBuiltins, slimDependencies(repository)],
  legalComments: 'linked',
  logLevel: 'warning',
};
/** Leaves the modules of `filter` to a file that is built beside the one that imports them. */
const beside = (file: string, filter: RegExp): Plugin => ({
  name: `${file}-beside`,
  setup({ onResolve }) {
    onResolve({ filter }, () => ({ path: `./${file}`, external: true }));
  },
});

const cli = join(repository, 'src', 'cli');
await bundle({
  ...COMMON,
  entryPoints: {
    [basename(PROGRAM, '.mjs')]: join(cli, 'start.ts'),
    [basename(RELAY, '.mjs')]: join(cli, 'start-job.ts'),
  },
  // Builds the page from the sources, which the built program never does.
  external: ['esbuild'],
  plugins: [
    beside(SSH_CLIENT, /^ssh2$/),
    beside(MCP_SERVER, /^@modelcontextprotocol\/sdk\//),
    lazyBuiltins,
    slimDependencies(repository),
  ],
});
await bundle({
  ...COMMON,
  stdin: { contents: "export { Client } from 'ssh2';", resolveDir: repository, sourcefile: SSH_CLIENT },
  entryNames: basename(SSH_CLIENT, '.mjs'),
});
const sdk = '@modelcontextprotocol/sdk';
await bundle({
  ...COMMON,
  stdin: {
    contents: `
      export { Server } from '${sdk}/server/index.js';
      export { StdioServerTransport } from '${sdk}/server/stdio.js';
      export { CallToolRequestSchema, ListToolsRequestSchema } from '${sdk}/types.js';`,
    resolveDir: repository,
    sourcefile: MCP_SERVER,
  },
  entryNames: basename(MCP_SERVER, '.mjs'),
});
const page = await buildPage({ minify: true });
writeFileSync(join(outdir, PAGE_FILES.script), page.script);
writeFileSync(join(outdir, PAGE_FILES.style), page.style);
// Loaded before everything else, so it brings nothing with it.
const { banner: _banner, plugins: _plugins, ...PLAIN } = COMMON;
await bundle({
  ...PLAIN,
  entryPoints: { [basename(COMMAND, '.mjs')]: join(cli, 'main.ts') },
  plugins: [beside(PROGRAM, /^\.\/start\.ts$/), beside(RELAY, /^\.\/start-job\.ts$/)],
});
await bundle({
  ...PLAIN,
  entryPoints: { 'hold-signals': join(repository, 'src', 'cli', 'hold-signals.ts') },
});
await bundle({
  ...COMMON,
  entryPoints: {
    client: join(repository, 'src', 'client.ts'),
    simulator: join(repository, 'src', 'simulator.ts'),
  },
  // One copy of what both use: the client recognizes the simulator's TransportError by its class.
  splitting: true,
  chunkNames: 'shared-[hash]',
});
const packages = bundledPackages(repository, [...modules, ...page.inputs]);
writeFileSync(join(outdir, NOTICES), noticesText(packages));
const list = packages.map(({ name, version, license }) => ({ name, version, license }));
writeFileSync(join(outdir, PACKAGES), `${JSON.stringify(list, undefined, 2)}\n`);
writeDeclarations(repository, join(outdir, 'types'));
chmodSync(join(outdir, COMMAND), 0o755);
const size = [COMMAND, PROGRAM].reduce((sum, file) => sum + statSync(join(outdir, file)).size, 0);
process.stdout.write(`dist/${COMMAND}, which loads ${PROGRAM} beside it: ${(size / 1024).toFixed(0)} kB\n`);
