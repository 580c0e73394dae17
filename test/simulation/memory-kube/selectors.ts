import { failures } from './failure.ts';
import { type JsonObject, metadataOf, objectAt } from './json.ts';
import { type Kind, valueAtPath } from './kinds.ts';

export type Selects = (object: JsonObject) => boolean;

const everything: Selects = () => true;

function labelTerm(term: string): Selects {
  const labels = (object: JsonObject) => objectAt(metadataOf(object), 'labels');
  const set = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(term);
  if (set) {
    const [, key = '', operator, values = ''] = set;
    const listed = values.split(',').map((value) => value.trim());
    return (object) => listed.includes(String(labels(object)[key] ?? '')) === (operator === 'in');
  }
  const equality = /^([^=!\s]+)\s*(==|=|!=)\s*(\S*)$/.exec(term);
  if (equality) {
    const [, key = '', operator, value] = equality;
    return (object) => (labels(object)[key] === value) === (operator !== '!=');
  }
  if (term.startsWith('!')) return (object) => labels(object)[term.slice(1)] === undefined;
  return (object) => labels(object)[term] !== undefined;
}

/** Splits at commas outside brackets. */
function terms(selector: string): string[] {
  return selector
    .split(/,(?![^(]*\))/)
    .map((term) => term.trim())
    .filter((term) => term !== '');
}

/** Returns a predicate for `labelSelector`. */
export function labelSelector(selector: string | undefined): Selects {
  if (!selector) return everything;
  const all = terms(selector).map(labelTerm);
  return (object) => all.every((selects) => selects(object));
}

/** Returns a predicate for `fieldSelector`: equality of fields that the kind declares as selectable. */
export function fieldSelector(
  selector: string | undefined,
  { selectableFields }: Pick<Kind, 'selectableFields'>,
): Selects {
  if (!selector) return everything;
  const all = terms(selector).map((term): Selects => {
    const match = /^([^=!]+)(==|=|!=)(.*)$/.exec(term);
    if (!match) throw failures.badRequest(`invalid field selector: ${term}`);
    const [, field = '', operator, value] = match;
    if (!selectableFields.includes(field)) throw failures.badRequest(`field label not supported: ${field}`);
    const path = field.split('.');
    return (object) => (String(valueAtPath(object, path) ?? '') === value) === (operator !== '!=');
  });
  return (object) => all.every((selects) => selects(object));
}
