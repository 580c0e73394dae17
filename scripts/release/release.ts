import type { Programs } from './programs.ts';
import type { ReleaseSettings } from './settings.ts';

/** Inputs of every publishing step of a release. */
export interface Release {
  readonly settings: ReleaseSettings;
  readonly programs: Programs;
  /** The folder of the sources; all that is made lands in its `dist`. */
  readonly repository: string;
  readonly env: NodeJS.ProcessEnv;
}
