import { MarketplaceError } from '../../market/errors.ts';
import type { MarketplaceId } from '../../market/ids.ts';

/** Returns the id of a number on the wire. */
export function toId(wire: number): MarketplaceId;
export function toId(wire: number | undefined): MarketplaceId | undefined;
export function toId(wire: number | undefined): MarketplaceId | undefined {
  return wire === undefined ? undefined : String(wire);
}

const WHOLE_NUMBER = /^(0|[1-9]\d*)$/;

/**
 * Returns the number of an id on the wire. Throws a MarketplaceError that names the `field` and states that nothing was
 * sent, if this marketplace cannot have issued the id.
 */
export function toWireId(id: MarketplaceId, field: string): number {
  const number = WHOLE_NUMBER.test(id) ? Number(id) : Number.NaN;
  if (Number.isSafeInteger(number)) return number;
  throw new MarketplaceError(`${field} ${JSON.stringify(id)}: ids of this marketplace are whole numbers`, {
    kind: 'invalidRequest',
    outcome: 'refused',
  });
}

/** Returns the number of an optional id. Throws like {@link toWireId}. */
export function toOptionalWireId<Nothing extends null | undefined>(
  id: MarketplaceId | Nothing,
  field: string,
): number | Nothing {
  return typeof id === 'string' ? toWireId(id, field) : id;
}

/** Returns an id as a segment of a path. Throws like {@link toWireId}, before any URL contains it. */
export function pathId(id: MarketplaceId, field: string): string {
  return String(toWireId(id, field));
}
