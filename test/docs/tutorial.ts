import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type CodeBlock, codeBlocks } from './code-blocks.ts';
import type { Typist } from './typist.ts';

/** The first line of a block that a reader saves: its name. */
const FILE = /^# file: (\S+)\n/;

/** What a reader does with a block of a tutorial: save it, type it, or only read it. */
export type TutorialStep =
  | { readonly type: 'save'; readonly file: string; readonly text: string }
  | { readonly type: 'type'; readonly heading: string; readonly commands: string };

function stepOf({ language, heading, text }: CodeBlock): readonly TutorialStep[] {
  const file = FILE.exec(text)?.[1];
  if (file !== undefined) return [{ type: 'save', file, text: text.replace(FILE, '') }];
  return language === 'sh' ? [{ type: 'type', heading, commands: text.trim() }] : [];
}

/** The steps of a page in their order. Blocks of `sh` are typed, blocks that begin with `# file: NAME` are saved. */
export const stepsOf = (page: string): readonly TutorialStep[] => codeBlocks(page).flatMap(stepOf);

/** Of one block; a busy machine boots slowly. */
const TYPING_MS = 300_000;

export interface TutorialReader {
  readonly folder: string;
  readonly type: Typist;
  /** What other computers do after a block was typed. */
  readonly afterTyping?: (commands: string) => Promise<void>;
}

/** Does what a page says, in a folder. Gives back what was printed, block by block, under the heading of each. */
export async function followTutorial(
  page: string,
  { folder, type, afterTyping }: TutorialReader,
): Promise<readonly { readonly heading: string; readonly printed: string }[]> {
  const printed: { heading: string; printed: string }[] = [];
  for (const step of stepsOf(page)) {
    if (step.type === 'save') {
      mkdirSync(dirname(join(folder, step.file)), { recursive: true });
      writeFileSync(join(folder, step.file), step.text);
    } else {
      printed.push({ heading: step.heading, printed: await type(step.commands, TYPING_MS) });
      await afterTyping?.(step.commands);
    }
  }
  return printed;
}
