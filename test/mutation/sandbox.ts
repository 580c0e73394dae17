import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Group } from './groups.ts';

/** A change of one place of the source, as StrykerJS describes it. Lines and columns count from 0. */
export interface Mutant {
  readonly id: string;
  readonly fileName: string;
  readonly mutatorName: string;
  readonly replacement: string;
  /** `Ignored`: a comment in the source says why it is no fault. */
  readonly status?: 'Ignored';
  readonly location: { readonly start: Position; readonly end: Position };
}

interface Position {
  readonly line: number;
  readonly column: number;
}

interface Instrumenter {
  instrument(
    files: readonly { readonly name: string; readonly mutate: true; readonly content: string }[],
    options: object,
  ): Promise<{
    readonly files: readonly { readonly name: string; readonly content: string }[];
    readonly mutants: readonly Mutant[];
  }>;
}

const COPIED = [
  'src',
  'crds',
  'proto/gen',
  'test/builders',
  'test/golden/decisions',
  'test/simulation/memory-kube',
  'test/simulation/oracle/heap.ts',
  'test/status-contract/contract.ts',
];

/** A copy of what the tables need, in which all mutants of a group are there at once and none is active. */
export class Sandbox {
  readonly folder = mkdtempSync(join(tmpdir(), 'gpu-rental-mutation-'));
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
    for (const path of [...COPIED, 'package.json', 'tsconfig.json']) {
      mkdirSync(dirname(join(this.folder, path)), { recursive: true });
      cpSync(join(root, path), join(this.folder, path), { recursive: true });
    }
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'));
  }

  /** Puts all mutants of these files in, each behind a switch, and one test file that is all tests of the group. */
  async put({ files, tests }: Group): Promise<readonly Mutant[]> {
    const instrumenter = await strykerInstrumenter(this.#root);
    const sources = files.map((file) => ({
      name: join(this.folder, file),
      mutate: true as const,
      content: readFileSync(join(this.#root, file), 'utf8'),
    }));
    const options = { plugins: null, excludedMutations: [], ignorers: [] };
    const { files: mutated, mutants } = await instrumenter.instrument(sources, options);
    for (const { name, content } of mutated) writeFileSync(name, `// @ts-nocheck\n${content}`);
    const imports = tests.map((test) => `await import(${JSON.stringify(join(this.folder, test))});\n`);
    writeFileSync(join(this.folder, 'all.test.ts'), `${imports.join('')}export {};\n`);
    const counted = mutants.filter(({ status }) => status !== 'Ignored');
    return counted.map((mutant) => ({ ...mutant, fileName: mutant.fileName.slice(this.folder.length + 1) }));
  }

  /** Restores the original sources of these files. */
  restore({ files }: Group): void {
    for (const file of files) cpSync(join(this.#root, file), join(this.folder, file));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Loads the instrumenter of the installed StrykerJS through its core, because it is not a direct dependency. */
async function strykerInstrumenter(root: string): Promise<Instrumenter> {
  const core = createRequire(createRequire(join(root, 'package.json')).resolve('@stryker-mutator/core'));
  const load = (name: string): Promise<Record<string, never>> =>
    import(pathToFileURL(core.resolve(name)).href) as Promise<Record<string, never>>;
  const { createInstrumenter } = await load('@stryker-mutator/instrumenter');
  const { createInjector } = await load('typed-inject');
  const make = createInjector as unknown as () => Injector;
  const injector = make()
    .provideValue('logger', SILENT)
    .provideValue('getLogger', () => SILENT);
  return injector.injectFunction<Instrumenter>(createInstrumenter);
}

interface Injector {
  provideValue(name: string, value: unknown): Injector;
  injectFunction<T>(factory: unknown): T;
}

const SILENT = {
  isTraceEnabled: () => false,
  isDebugEnabled: () => false,
  isInfoEnabled: () => false,
  trace() {},
  debug() {},
  info() {},
  warn() {},
  error() {},
};
