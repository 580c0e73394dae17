import type { DocumentOptions, ParseOptions, ScalarTag, SchemaOptions, Tags } from 'yaml';

/** Returns true for forms of YAML 1.1 that kubectl's parser leaves as text: times, and numbers to base 60. */
const isText = (tag: Tags[number]): boolean =>
  typeof tag === 'object' &&
  (tag.tag === 'tag:yaml.org,2002:timestamp' || ('format' in tag && tag.format === 'TIME'));

const isNumber = (tag: Tags[number]): tag is ScalarTag =>
  typeof tag === 'object' && /:(int|float)$/.test(tag.tag) && !('test' in tag && tag.test?.test('.nan'));

/**
 * The forms that kubectl's parser reads as a number, also with underscores. A text without a digit before its exponent is
 * no number, so an object may be named e1.
 */
const NUMBER = new RegExp(
  [
    '(?:[-+]_*)?0_*[xX]_*[0-9a-fA-F][0-9a-fA-F_]*',
    '(?:[-+]_*)?0_*[oO]_*[0-7][0-7_]*',
    '(?:[-+]_*)?0_*[bB]_*[01][01_]*',
    '(?:[-+]_*)?[0-9][0-9_]*(?:\\.[0-9_]*)?(?:[eE]_*[-+]?_*[0-9][0-9_]*)?',
    '[-+]_*\\._*[0-9][0-9_]*(?:[eE]_*[-+]?_*[0-9][0-9_]*)?',
    '\\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+)?',
  ]
    .map((form) => `^${form}$`)
    .join('|'),
);

/** Returns the number of a text that {@link NUMBER} matches. */
function numberOf(text: string): number {
  const plain = text.replaceAll('_', '');
  const [, sign = '', digits = ''] = /^([-+]?)(.*)$/.exec(plain) ?? [];
  // Number() knows 0x, 0o and 0b, but no sign before them and no 010 for eight.
  const size = /^0[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : Number(digits);
  return sign === '-' ? -size : size;
}

function kubectlTags(tags: Tags): Tags {
  const whole = tags.filter(isNumber).find(({ format }) => format === undefined);
  const others = tags.filter((tag) => !isText(tag) && !isNumber(tag));
  return whole ? [...others, { ...whole, test: NUMBER, resolve: numberOf }] : others;
}

/**
 * Parser options that read a manifest as kubectl does, so that two programs read the same file alike: YAML 1.1, in
 * which `NO`, `on` and `yes` are booleans and `010` is eight. YAML 1.2 reads a text written with them as the same text.
 */
export const KUBECTL_YAML: ParseOptions & DocumentOptions & SchemaOptions = {
  version: '1.1',
  customTags: kubectlTags,
};
