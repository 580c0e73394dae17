import { codeBlocks } from './code-blocks.ts';

/** Replaces what differs between runs: ages, times, IDs, amounts, addresses, widths of columns. */
export function shapeOf(text: string): string {
  return text
    .trim()
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/\b(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+\b/g, 'AGE')
    .replaceAll(/\b\d+(?:\.\d+){3}\b/g, 'IP')
    .replaceAll(/\b\d+\.(\d+)\b/g, (_, digits: string) => (digits.length > 2 ? 'FINE' : 'CENTS'))
    .replaceAll(/\d+/g, '0')
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(/ $/gm, '');
}

/** Commands, and their output. */
export interface Printed {
  readonly commands: string;
  readonly printed: string;
}

/**
 * Outputs that a page shows, in `text` blocks behind a block that was typed, and that differ in shape from the end of
 * what that block printed.
 */
export function shownAndPrinted(
  page: string,
  steps: readonly Printed[],
): readonly { readonly shown: string; readonly printed: string }[] {
  const blocks = codeBlocks(page);
  return blocks.flatMap(({ language, text }, at) => {
    const before = blocks[at - 1];
    const step = steps.find(({ commands }) => commands === before?.text.trim());
    if (language !== 'text' || !step) return [];
    const shown = shapeOf(text);
    const printed = shapeOf(step.printed);
    return printed.endsWith(shown) ? [] : [{ shown, printed }];
  });
}
