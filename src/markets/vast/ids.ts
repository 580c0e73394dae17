import { MarketplaceError } from '../../market/errors.ts';
import type { MarketplaceId } from '../../market/ids.ts';

/** The id that a number on the wire stands for. */
export function toId(wire: number): MarketplaceId;
export function toId(wire: number | undefined): MarketplaceId | undefined;
export function toId(wire: number | undefined): MarketplaceId | undefined {
  return wire === undefined ? undefined : String(wire);
}

const WHOLE_NUMBER = /^(0|[1-9]\d*)$/;

/**
 * The number that stands for an id on the wire. Throws a MarketplaceError that names the `field` and says that nothing
 * was sent, if this marketplace cannot have issued the id.
 */
export function toWireId(id: MarketplaceId, field: string): number {
  const number = WHOLE_NUMBER.test(id) ? Number(id) : Number.NaN;
  if (Number.isSafeInteger(number)) return number;
  throw new MarketplaceError(`${field} ${JSON.stringify(id)}: ids of this marketplace are whole numbers`, {
    kind: 'invalidRequest',
    outcome: 'refused',
  });
}

/** The same where an id may be left out. */
export function toOptionalWireId<Nothing extends null | undefined>(
  id: MarketplaceId | Nothing,
  field: string,
): number | Nothing {
  return typeof id === 'string' ? toWireId(id, field) : id;
}

/** An id as a step of a path. Throws as {@link toWireId} does, before anything reaches an address. */
export function pathId(id: MarketplaceId, field: string): string {
  return String(toWireId(id, field));
}
