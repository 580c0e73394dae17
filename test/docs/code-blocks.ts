import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';

/** A code block of a document. */
export interface CodeBlock {
  readonly language: string;
  /** The heading above it. */
  readonly heading: string;
  readonly text: string;
  /** Reason why no test runs it, from a comment `<!-- not run: REASON -->` on the line above; undefined if one does. */
  readonly notRun: string | undefined;
}

/** Pages whose commands are run by tests, block by block. */
export const RUN_PAGES: readonly string[] = [
  'README.md',
  ...globSync(['docs/tutorials/*.md', 'docs/how-to/*.md'], { cwd: REPOSITORY }).toSorted(),
];

const FENCE = /^```(\w*)\n([\s\S]*?)^```$/gm;

const NOT_RUN = /<!-- not run: ([^\n]*) -->\n$/;

/** Returns the code blocks of a Markdown file in order. */
export function codeBlocks(path: string): readonly CodeBlock[] {
  const text = readFileSync(join(REPOSITORY, path), 'utf8');
  return [...text.matchAll(FENCE)].map(({ 1: language = '', 2: body = '', index }) => {
    // A comment of a shell block is no heading.
    const headings = text
      .slice(0, index)
      .replaceAll(FENCE, '')
      .match(/^#+ .*$/gm);
    const [, notRun] = NOT_RUN.exec(text.slice(0, index)) ?? [];
    return { language, heading: (headings?.at(-1) ?? '').replace(/^#+ /, ''), text: body, notRun };
  });
}

/**
 * Returns the lines that a reader types: of a shell block, or after the prompts of a console block, without comments.
 */
export function commandsOf({ language, text }: CodeBlock): string {
  const lines = text.split('\n');
  const typed =
    language === 'console'
      ? lines.filter((line) => line.startsWith('$ ')).map((line) => line.slice(2))
      : lines;
  return typed.join('\n').trim();
}

/** Blocks of a page that a reader types and that no comment excepts, in their order. */
export function blocksToRun(page: string): readonly CodeBlock[] {
  const isTyped = ({ language, text }: CodeBlock): boolean =>
    (language === 'sh' || language === 'console') && !SAVED.test(text);
  return codeBlocks(page).filter((block) => isTyped(block) && block.notRun === undefined);
}

/** The first line of a block that a reader saves: its name. */
export const SAVED: RegExp = /^# file: (\S+)\n/;

/** Lines that a page shows to type, of blocks and inline, that begin with one of these programs. */
export function shownCommands(path: string, program: string): readonly string[] {
  const text = readFileSync(join(REPOSITORY, path), 'utf8');
  const inline = text.replaceAll(FENCE, '').matchAll(/`(?:\$ )?([^`]+)`/g);
  const blocks = codeBlocks(path).flatMap((block) =>
    commandsOf(block)
      .replaceAll(/\\\n\s*/g, '')
      .split('\n'),
  );
  return [...blocks, ...[...inline].map(([, code = '']) => code)].filter((line) =>
    line.startsWith(`${program} `),
  );
}

/** Returns the commands at prompts in a section of a page, line by line. */
export function commandsUnder(page: string, heading: string): readonly string[] {
  return codeBlocks(page)
    .filter((block) => block.heading === heading && block.language === 'console')
    .flatMap((block) => commandsOf(block).split('\n'));
}

/** Returns the commands in the head of deploy/quickstart.yaml: two to begin and two to end. */
export function quickStartCommands(): readonly string[] {
  const text = readFileSync(join(REPOSITORY, 'deploy/quickstart.yaml'), 'utf8');
  return [...text.matchAll(/^# {3}(.*)$/gm)].map(([, line = '']) => line);
}
