import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';

/** A code block of a document. */
export interface CodeBlock {
  readonly language: string;
  /** The heading above it. */
  readonly heading: string;
  readonly text: string;
}

const FENCE = /^```(\w*)\n([\s\S]*?)^```$/gm;

/** The code blocks of a Markdown file, in their order. */
export function codeBlocks(path: string): readonly CodeBlock[] {
  const text = readFileSync(join(REPOSITORY, path), 'utf8');
  return [...text.matchAll(FENCE)].map(({ 1: language = '', 2: body = '', index }) => {
    // A comment of a shell block is no heading.
    const headings = text
      .slice(0, index)
      .replaceAll(FENCE, '')
      .match(/^#+ .*$/gm);
    return { language, heading: (headings?.at(-1) ?? '').replace(/^#+ /, ''), text: body };
  });
}

/** What a reader types: lines of a shell block, or those behind the prompt of a console block, without comments. */
export function commandsOf({ language, text }: CodeBlock): string {
  const lines = text.split('\n');
  const typed =
    language === 'console'
      ? lines.filter((line) => line.startsWith('$ ')).map((line) => line.slice(2))
      : lines;
  return typed.join('\n').trim();
}

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

/** What a section of a page tells to type at a prompt, line by line. */
export function commandsUnder(page: string, heading: string): readonly string[] {
  return codeBlocks(page)
    .filter((block) => block.heading === heading && block.language === 'console')
    .flatMap((block) => commandsOf(block).split('\n'));
}

/** What the head of deploy/quickstart.yaml tells to type: two commands to begin and two to end. */
export function quickStartCommands(): readonly string[] {
  const text = readFileSync(join(REPOSITORY, 'deploy/quickstart.yaml'), 'utf8');
  return [...text.matchAll(/^# {3}(.*)$/gm)].map(([, line = '']) => line);
}
