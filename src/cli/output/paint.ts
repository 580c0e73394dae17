import { styleText } from 'node:util';
import type { CommandContext, OptionValues } from '../command.ts';

/** Colours a text where colours are wanted; otherwise gives it back as it is. */
export type Paint = (colour: 'green' | 'yellow' | 'red' | 'dim' | 'bold', text: string) => string;

/** Colours only on a terminal that knows them, and never with `--no-color`, NO_COLOR or TERM=dumb. */
export function createPaint(options: OptionValues, { stdout, env }: CommandContext): Paint {
  const wanted = Boolean(stdout.isTTY) && options.color !== false && !env.NO_COLOR && env.TERM !== 'dumb';
  return (colour, text) => (wanted ? styleText(colour, text, { validateStream: false }) : text);
}
