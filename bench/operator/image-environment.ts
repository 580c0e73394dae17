import { ENVIRONMENT } from '../../scripts/image/root-files.ts';

/** Folders of the image, which a process outside it does not have. */
const FOLDERS: ReadonlySet<string> = new Set(['PATH', 'HOME']);

/** What the image sets for the operator, so that a bench measures the process as it is shipped. */
export function imageEnvironment(): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(ENVIRONMENT).filter(([name]) => !FOLDERS.has(name)));
}
