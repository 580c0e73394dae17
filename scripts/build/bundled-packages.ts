import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';

/** Development dependencies, of which a part is in a file that ships: the bill of materials lists them, too. */
export const BUNDLED_DEVELOPMENT_PACKAGES: readonly string[] = [
  '@modelcontextprotocol/sdk',
  '@preact/signals',
  '@preact/signals-core',
  'ajv',
  'ajv-formats',
  'fast-uri',
  'json-schema-traverse',
  'preact',
  'zod-to-json-schema',
];

/** A package with modules in a bundle. */
interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** Texts of its licence files. */
  readonly texts: readonly string[];
}

const PACKAGE = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const LICENCE_FILE = /^(licen[cs]e|copying|notice)/i;

/** Returns the modules with at least one byte in the outputs of a build. */
export function modulesOf({ outputs }: Metafile): readonly string[] {
  return Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
  );
}

/**
 * Returns the packages of modules, by name. `files`: paths from the folder of the repository. Throws if one names no
 * licence.
 */
export function bundledPackages(repository: string, files: readonly string[]): readonly BundledPackage[] {
  const folders = new Set(files.flatMap((file) => PACKAGE.exec(file)?.[0] ?? []));
  const packages = [...folders].map((folder) => readPackage(join(repository, folder)));
  return packages.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

interface PackageFile {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  /** The older form. */
  readonly licenses?: readonly { readonly type: string }[];
}

function readPackage(folder: string): BundledPackage {
  const file = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackageFile;
  const { name, version, license = file.licenses?.map(({ type }) => type).join(' OR ') } = file;
  if (name === undefined || version === undefined || license === undefined)
    throw new Error(`${folder}/package.json names no version or no licence`);
  const texts = readdirSync(folder)
    .filter((file) => LICENCE_FILE.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return { name, version, license, texts };
}

/** Returns the licences of bundled packages as text. */
export function noticesText(packages: readonly BundledPackage[]): string {
  const parts = packages.map(({ name, version, license, texts }) =>
    [`## ${name} ${version} (${license})`, ...texts].join('\n\n'),
  );
  return `Packages in the files of this program, with their licences.\n\n${parts.join('\n\n')}\n`;
}
