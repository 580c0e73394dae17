import { imageProblem } from '../../api/v1alpha1/image-reference.ts';
import { printableLine } from '../../views/printable.ts';
import type { CommandContext, CommandOption, OptionValues } from '../command.ts';
import { usageError } from '../command-error.ts';
import { restOption, textOption } from '../option-values.ts';

/** The option behind which everything belongs to the program of the image. */
export const ARGS: CommandOption = {
  flags: '--args <word...>',
  description:
    "Run the image as it was built, with everything behind this in place of its CMD: --args --model q. Nothing behind it: the image's own CMD. No SSH.",
  takesRest: true,
};

/**
 * Returns the words of {@link ARGS}; undefined if it was not given. Warns of a word that looks like two, because a
 * program reads `--model q` in one word as an option with that whole name.
 */
export function imageArgs(
  options: OptionValues,
  { stderr }: Pick<CommandContext, 'stderr'>,
): readonly string[] | undefined {
  const words = restOption(options, '--args');
  for (const token of words ?? [])
    if (/^-\S*\s/.test(token) && !/^-\S*=/.test(token))
      stderr.write(
        `"${printableLine(token)}" is one word with a blank. For two words write them without quotes behind --args.\n`,
      );
  return words;
}

/** Returns the image of an option; undefined if it was not given. Throws a usage error if no registry can serve it. */
export function imageOption(options: OptionValues): string | undefined {
  const image = textOption(options, '--image');
  const problem = image === undefined ? undefined : imageProblem(image);
  if (problem !== undefined) throw usageError(`--image: "${image}": ${problem}.`);
  return image;
}
