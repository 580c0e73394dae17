import type { World } from '../world/world.ts';

/* How large a body may be, known before a byte of it is read. PURE. */

const LARGE_BYTES = 256 * 1_048_576;
/** What a form has around its file. */
const FORM_BYTES = 65_536;

/**
 * Bytes that a body may have: a whole world where control is served, the announced size of a file that was asked
 * for, the limit of the settings elsewhere. Uploads need no key, so one that nobody announced is not waited for.
 */
export function bodyLimit(world: World, url: string, hasControl: boolean): number {
  const { bodyBytes } = world.settings.limits;
  if (/^\/+sim\//.test(url)) return hasControl ? LARGE_BYTES : bodyBytes;
  const [, id, version] = /^\/+uploads\/+([^/?]+)\/+([^/?]+)/.exec(url) ?? [];
  const announced = world.tables.deployments[Number(id)]?.versions.find(
    (known) => String(known.id) === version,
  );
  return announced ? Math.min(LARGE_BYTES, Math.max(bodyBytes, announced.fileSize + FORM_BYTES)) : bodyBytes;
}
