import { omitUndefined } from '../../lib/json.ts';
import type { CommandInput, CommandOption } from '../command.ts';
import { numberOption, textOption } from '../option-values.ts';

/** Options of commands that run a program to its end on a machine. */
export const PROGRAM_OPTIONS: readonly CommandOption[] = [
  {
    flags: '--max-lifetime <time>',
    description: 'Maximum time with a machine, such as 8h. Default: 24h.',
  },
  {
    flags: '--backoff-limit <n>',
    description: 'Further attempts after an exit code other than 0. Default: 3.',
  },
  { flags: '--lost-limit <n>', description: 'Maximum number of lost machines. Default: 20.' },
];

type Options = CommandInput['options'];

/**
 * Returns readers of {@link PROGRAM_OPTIONS}. Each throws a usage error for an invalid value, so that one message can
 * name all of them.
 */
export function programParts(options: Options) {
  return {
    backoffLimit: () => numberOption(options, '--backoff-limit', { min: 0, max: 100, whole: true }),
    lostLimit: () => numberOption(options, '--lost-limit', { min: 0, max: 1_000, whole: true }),
  };
}

/** Values of the readers of {@link programParts}. */
type ProgramParts = {
  readonly [Key in keyof ReturnType<typeof programParts>]: ReturnType<ReturnType<typeof programParts>[Key]>;
};

/** Fields of the spec for a program that runs to its end. */
export function programFields(
  options: Options,
  command: readonly string[],
  { backoffLimit, lostLimit }: ProgramParts,
) {
  const maxLifetime = textOption(options, '--max-lifetime');
  return {
    completion: omitUndefined({ backoffLimit, lostLimit }),
    command,
    ...omitUndefined({ maxLifetime }),
  };
}
