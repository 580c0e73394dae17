import { ENVIRONMENT } from '../../scripts/image/root-files.ts';

/** Folders of the image, which a process outside it does not have. */
const FOLDERS: ReadonlySet<string> = new Set(['PATH', 'HOME']);

/** Returns the environment that the image sets for the operator, so that a bench measures the process as it ships. */
export function imageEnvironment(): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(ENVIRONMENT).filter(([name]) => !FOLDERS.has(name)));
}
