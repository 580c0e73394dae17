import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Made here or installed: a fresh checkout does not have them. */
const NOT_SOURCES = new Set(['node_modules', 'dist', 'coverage', 'reports', '.git']);

/**
 * Copies the sources as they are now, with their changes, to `folder`: what a job of the workflow checks out. The
 * installed packages are shared. Two rehearsals, and what is in `dist`, then have nothing to do with each other.
 */
export function copySources(repository: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  const isSource = (path: string): boolean =>
    !(dirname(path) === repository && NOT_SOURCES.has(basename(path)));
  cpSync(repository, folder, { recursive: true, filter: isSource });
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'), 'dir');
}
