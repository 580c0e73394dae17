import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type CodeBlock, codeBlocks, SAVED } from './code-blocks.ts';
import type { Printed } from './shown-output.ts';
import type { Typist } from './typist.ts';

/** Step of a reader for one block of a tutorial: save it, type it, or only read it. */
export type TutorialStep =
  | { readonly type: 'save'; readonly file: string; readonly text: string }
  | { readonly type: 'type'; readonly heading: string; readonly commands: string };

function stepOf({ language, heading, text, notRun }: CodeBlock): readonly TutorialStep[] {
  const file = SAVED.exec(text)?.[1];
  if (file !== undefined) return [{ type: 'save', file, text: text.replace(SAVED, '') }];
  return language === 'sh' && notRun === undefined ? [{ type: 'type', heading, commands: text.trim() }] : [];
}

/** Returns the steps of a page in order. Blocks of `sh` are typed, blocks that begin with `# file: NAME` are saved. */
export const stepsOf = (page: string): readonly TutorialStep[] => codeBlocks(page).flatMap(stepOf);

/** Timeout of one block; a machine boots slowly on a busy computer. */
const TYPING_MS = 300_000;

export interface TutorialReader {
  readonly folder: string;
  readonly type: Typist;
  /** Runs after each typed block, in place of other computers. */
  readonly afterTyping?: (commands: string) => Promise<void>;
}

/** Follows a page in a folder. Returns the output block by block, with the heading of each. */
export async function followTutorial(
  page: string,
  { folder, type, afterTyping }: TutorialReader,
): Promise<readonly (Printed & { readonly heading: string })[]> {
  const printed: (Printed & { readonly heading: string })[] = [];
  for (const step of stepsOf(page)) {
    if (step.type === 'save') {
      mkdirSync(dirname(join(folder, step.file)), { recursive: true });
      writeFileSync(join(folder, step.file), step.text);
    } else {
      const { heading, commands } = step;
      printed.push({ heading, commands, printed: await type(commands, TYPING_MS) });
      await afterTyping?.(commands);
    }
  }
  return printed;
}
