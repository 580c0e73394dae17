import {
  endpointGroupResource,
  gpuInstanceResource,
  type KindNames,
  marketplaceAccountResource,
  spendBudgetResource,
} from '../../api/v1alpha1/names.ts';

/** The kinds that a command line can name. */
export const KINDS: readonly KindNames[] = [
  gpuInstanceResource,
  endpointGroupResource,
  marketplaceAccountResource,
  spendBudgetResource,
];

/**
 * Returns the kind that a text of the command line names, in every spelling that kubectl accepts; undefined for any
 * other.
 */
export function kindNamed(text: string): KindNames | undefined {
  return KINDS.find((kind) => spellingsOf(kind).includes(text.toLowerCase()));
}

function spellingsOf({ singular, plural, shortNames, group, version }: KindNames): readonly string[] {
  const whole = [singular, plural].flatMap((name) => [
    name,
    `${name}.${group}`,
    `${name}.${version}.${group}`,
  ]);
  return [...whole, ...shortNames];
}
