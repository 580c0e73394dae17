import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

/** Packages whose types the exported modules use: the bundles contain their code, so users do not install them. */
const PACKAGES: readonly string[] = ['zod', 'undici'];
const SPECIFIER = /(\bfrom\s+|\bimport\s*\(?\s*|\bimport\s+type\s+|\brequire\s*\(\s*)(['"])([^'"\n]+)\2/g;

/**
 * Writes the declarations of the exported modules to `outdir`, with those that they reference in other packages beside
 * them in `packages`, so that users of the package need none. Throws for a missing declaration.
 */
export function writeDeclarations(repository: string, outdir: string): void {
  const tsc = ['--project', 'scripts/build/tsconfig.declarations.json', '--outDir', outdir];
  execFileSync('tsc', tsc, { cwd: repository, stdio: 'inherit' });
  const copies = new Copies(join(repository, 'node_modules'), join(outdir, 'packages'));
  for (const path of declarationsBelow(outdir)) {
    const text = readFileSync(path, 'utf8');
    const own = text.replace(SPECIFIER, (whole, before: string, quote: string, name: string) => {
      const copy = copies.ofPackage(name);
      return copy === undefined ? whole : `${before}${quote}${specifier(path, copy)}${quote}`;
    });
    if (own !== text) writeFileSync(path, own);
  }
}

function declarationsBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.d.ts'))
    .map((path) => join(folder, path));
}

/** Returns the specifier with which `file` imports the module of `declaration`. */
function specifier(file: string, declaration: string): string {
  const path = relative(dirname(file), declaration)
    .split(sep)
    .join('/')
    .replace(/\.d\.ts$/, '.js');
  return path.startsWith('.') ? path : `./${path}`;
}

/** Declarations of other packages: each that is reached is copied once, with all that it reaches. */
class Copies {
  readonly #modules: string;
  readonly #folder: string;

  constructor(modules: string, folder: string) {
    this.#modules = modules;
    this.#folder = folder;
    rmSync(folder, { recursive: true, force: true });
  }

  /** Returns the copy that declares a module of {@link PACKAGES}; undefined for any other module. */
  ofPackage(name: string): string | undefined {
    const owner = PACKAGES.find((each) => name === each || name.startsWith(`${each}/`));
    return owner === undefined ? undefined : this.#copy(this.#declarationOf(join(this.#modules, name)));
  }

  #copy(source: string): string {
    const path = relative(this.#modules, source);
    const copy = join(this.#folder, path);
    if (existsSync(copy)) return copy;
    this.#describe(path.split(sep)[0] ?? '');
    mkdirSync(dirname(copy), { recursive: true });
    const text = readFileSync(source, 'utf8');
    writeFileSync(copy, text);
    for (const [, , , name = ''] of text.matchAll(SPECIFIER))
      if (name.startsWith('.')) this.#copy(this.#declarationOf(join(dirname(source), name)));
    return copy;
  }

  /**
   * Records a package: its kind of modules decides how its declarations reference each other; its licence is copied
   * with them.
   */
  #describe(name: string): void {
    const folder = join(this.#folder, name);
    if (existsSync(folder)) return;
    mkdirSync(folder, { recursive: true });
    const {
      type = 'commonjs',
      version,
      license,
    } = JSON.parse(readFileSync(join(this.#modules, name, 'package.json'), 'utf8'));
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ name, version, license, type })}\n`);
    writeFileSync(join(folder, 'LICENSE'), readFileSync(join(this.#modules, name, 'LICENSE'), 'utf8'));
  }

  #declarationOf(module: string): string {
    const candidates = [module.replace(/\.js$/, '.d.ts'), `${module}.d.ts`, join(module, 'index.d.ts')];
    const found = candidates.find((path) => path.endsWith('.d.ts') && existsSync(path));
    if (found === undefined) throw new Error(`no declaration of ${module}`);
    return found;
  }
}
