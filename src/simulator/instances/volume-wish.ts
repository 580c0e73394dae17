import { badRequest } from '../calls/refusal.ts';
import {
  booleanField,
  integerField,
  numberField,
  objectField,
  requiredInteger,
  stringField,
} from '../calls/request-body.ts';
import type { JsonObject } from '../json.ts';

/** The volume that a rental wants mounted: one of the caller's, or a new one of a volume offer. */
export interface VolumeWish {
  readonly mountPath: string | null;
  /** Whether `id` names a volume offer, of which a volume is rented with the instance. */
  readonly createNew: boolean;
  readonly id: number;
  readonly name: string | undefined;
  readonly sizeGB: number | undefined;
}

/** `volume_info` of a rental; undefined where it names no volume. */
export function readVolumeWish(body: JsonObject): VolumeWish | undefined {
  const info = objectField(body, 'volume_info');
  if (info === undefined || Object.keys(info).length === 0) return undefined;
  if (integerField(info, 'volume_id') === undefined) throw badRequest('volume_info: volume_id is required.');
  return {
    mountPath: stringField(info, 'mount_path') ?? null,
    createNew: booleanField(info, 'create_new') ?? false,
    id: requiredInteger(info, 'volume_id'),
    name: stringField(info, 'name') || undefined,
    sizeGB: numberField(info, 'size'),
  };
}
