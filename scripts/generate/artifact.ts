import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A generated file: its path from the root of the repository, and its whole content. */
export interface Artifact {
  readonly path: string;
  readonly content: string;
}

export const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url));

/** Returns the paths whose file is missing or differs. */
export function drifting(artifacts: readonly Artifact[], root: string = REPOSITORY): readonly string[] {
  return artifacts.filter((artifact) => !isCurrent(artifact, root)).map((artifact) => artifact.path);
}

/** Files in wholly generated folders that nothing generates any more. */
export function strangers(
  artifacts: readonly Artifact[],
  folders: readonly string[],
  root: string = REPOSITORY,
): readonly string[] {
  const known = new Set(artifacts.map((artifact) => artifact.path));
  const present = folders.filter((folder) => existsSync(join(root, folder)));
  return present
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`))
    .filter((path) => !known.has(path));
}

/** Writes what differs, and says which paths those were. */
export function write(artifacts: readonly Artifact[], root: string = REPOSITORY): readonly string[] {
  const stale = artifacts.filter((artifact) => !isCurrent(artifact, root));
  for (const { path, content } of stale) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return stale.map((artifact) => artifact.path);
}

function isCurrent({ path, content }: Artifact, root: string): boolean {
  const file = join(root, path);
  return existsSync(file) && readFileSync(file, 'utf8') === content;
}
