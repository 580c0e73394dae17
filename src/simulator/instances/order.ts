import { microDollars } from '../../lib/money.ts';
import {
  anything,
  characters,
  type FieldValues,
  fieldsOf,
  flag,
  integer,
  list,
  number,
  object,
  text,
} from '../calls/fields.ts';
import { callerOf, type RouteContext } from '../calls/route.ts';
import { type JsonObject, textOf } from '../json.ts';
import { badRequest, invalidArgs, Refusal } from '../refusal.ts';
import type { Template } from '../tables/contracts.ts';
import { readEnv } from './container-options.ts';
import { findTemplate, mergeTemplate } from './templates.ts';

/* Body of a rental request (specification 4.5), read and checked before any change. */

/** A validated rental request. */
export interface Order {
  readonly image: string;
  readonly diskGB: number;
  readonly env: Readonly<Record<string, string>>;
  readonly label: string | null;
  readonly onstart: string | null;
  readonly args: readonly string[];
  readonly runtype: string;
  readonly bidPerHour: number | null;
  readonly imageLogin: string | null;
  readonly template: Template | undefined;
  readonly cancelUnavailable: boolean;
  readonly targetStopped: boolean;
  readonly volume: VolumeRequest | undefined;
}

/** The fields of a rental, from the request or its template. */
const ORDER = {
  image: text,
  disk: number,
  env: anything,
  label: text,
  onstart: text,
  onstart_cmd: text,
  args: list,
  args_str: text,
  runtype: text,
  price: number,
  image_login: text,
  cancel_unavail: flag,
  target_state: text,
  vm: flag,
  volume_info: object,
};

type OrderFields = FieldValues<typeof ORDER>;

/** Returns the order of a body, merged with its template. Throws the refusal of an invalid order. */
export function readOrder(ctx: RouteContext, given: JsonObject): Order {
  const template = findTemplate(ctx.world, given);
  const merged = template ? mergeTemplate(template, given) : given;
  const body = fieldsOf(ORDER, () => merged);
  const { image } = body;
  if (!image) throw invalidArgs('image is required unless a template names one.');
  const order: Order = {
    image,
    diskGB: body.disk ?? ctx.settings.limits.defaultDiskGB,
    env: readEnv(body.env),
    label: keptLabel(ctx, body.label),
    onstart: body.onstart ?? body.onstart_cmd ?? null,
    args: readArgs(body),
    runtype: body.runtype ?? (namesArgs(body) ? 'args' : 'ssh'),
    bidPerHour: readBid(ctx, body),
    imageLogin: body.image_login ?? null,
    template,
    cancelUnavailable: body.cancel_unavail ?? false,
    targetStopped: readTargetState(body) === 'stopped',
    volume: readVolumeRequest(body.volume_info),
  };
  checkLengths(ctx, order, body);
  checkVm(ctx, body);
  return order;
}

/**
 * Returns the target state. It refuses an invalid word, which would start billing a machine that should be stopped.
 */
function readTargetState(body: OrderFields): 'running' | 'stopped' {
  const state = body.target_state || 'running';
  if (state === 'running' || state === 'stopped') return state;
  throw invalidArgs(`target_state must be "running" or "stopped", not "${state.slice(0, 50)}".`);
}

/** Returns true if arguments select the launch mode, without an explicit one. */
function namesArgs(body: OrderFields): boolean {
  return body.args !== undefined || body.args_str !== undefined;
}

function readArgs(body: OrderFields): readonly string[] {
  const list = body.args;
  if (list) return list.map(textOf);
  const text = body.args_str;
  return text ? text.split(/\s+/) : [];
}

function readBid(ctx: RouteContext, body: OrderFields): number | null {
  const price = body.price;
  if (price === undefined) return null;
  const { minBid, maxBid } = ctx.settings.limits;
  if (price < minBid || price > maxBid) {
    throw new Refusal(
      400,
      'invalid_price',
      `price must lie between ${minBid} and ${maxBid} dollars an hour.`,
    );
  }
  return microDollars(price) ?? null;
}

function checkLengths(ctx: RouteContext, order: Order, body: OrderFields): void {
  const { limits } = ctx.settings;
  const onstart = characters(order.onstart ?? '');
  if (onstart > limits.onstart) {
    throw invalidArgs(
      `onstart has ${onstart} characters; ${limits.onstart} are allowed. Compress it (gzip, base64).`,
    );
  }
  const both = onstart + order.args.join(' ').length;
  if (both > limits.onstartAndArgs) {
    throw invalidArgs(
      `onstart and args have ${both} characters together; ${limits.onstartAndArgs} are allowed.`,
    );
  }
  const label = body.label?.length ?? 0;
  if (label > limits.labelAtRent) {
    throw invalidArgs(`label has ${label} characters; ${limits.labelAtRent} are allowed.`);
  }
  const env = JSON.stringify(order.env).length;
  if (env > limits.env) throw invalidArgs(`env has ${env} characters; ${limits.env} are allowed.`);
}

/** Throws for a VM without a registered key: it could never be reached (specification 4.5). */
function checkVm(ctx: RouteContext, body: OrderFields): void {
  if (body.vm !== true) return;
  const hasKey = callerOf(ctx).user.sshKey !== '';
  if (!hasKey) throw new Refusal(400, 'no_ssh_key_for_vm', 'Register an SSH key before you rent a VM.');
}

/** Returns the label as this service stores it; faults drop, cut or change it. */
function keptLabel(ctx: RouteContext, label: string | undefined): string | null {
  if (label === undefined || label === '') return null;
  if (!ctx.settings.market.keepLabels || ctx.fault('label-dropped')) return null;
  if (ctx.fault('label-cut')) return label.slice(0, 20);
  if (ctx.fault('label-lower-cased')) return label.toLowerCase().replaceAll(':', '');
  return label;
}

/** The volume to mount: one of the caller's, or a new one of a volume offer. */
export interface VolumeRequest {
  readonly mountPath: string | null;
  /** True if `id` names a volume offer, whose volume is rented with the instance. */
  readonly createNew: boolean;
  readonly id: number;
  readonly name: string | undefined;
  readonly sizeGB: number | undefined;
}

const VOLUME = { mount_path: text, create_new: flag, volume_id: integer, name: text, size: number };

/**
 * Reads `volume_info` of a rental; undefined if it names no volume. Throws a 400 `bad_request` Refusal if a field is
 * missing or invalid.
 */
function readVolumeRequest(info: JsonObject | undefined): VolumeRequest | undefined {
  if (info === undefined || Object.keys(info).length === 0) return undefined;
  const volume = fieldsOf(VOLUME, () => info);
  const { volume_id: id } = volume;
  if (id === undefined) throw badRequest('volume_info: volume_id is required.');
  return {
    mountPath: volume.mount_path ?? null,
    createNew: volume.create_new ?? false,
    id,
    name: volume.name || undefined,
    sizeGB: volume.size,
  };
}
