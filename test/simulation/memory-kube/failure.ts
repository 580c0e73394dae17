import type { JsonObject } from './json.ts';

/** A refusal as the API server words it: a metav1.Status with its HTTP code. */
export class Failure extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: JsonObject;
  constructor(code: number, reason: string, message: string, details: JsonObject = {}) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }
  status(): JsonObject {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      details: this.details,
      code: this.code,
    };
  }
}

const qualified = (group: string, plural: string): string => (group === '' ? plural : `${plural}.${group}`);

export interface Target {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly name: string;
}

export const detailsOf = ({ group, plural, name }: Target): JsonObject =>
  group === '' ? { name, kind: plural } : { name, group, kind: plural };

export const failures = {
  notFound: (target: Target) =>
    new Failure(
      404,
      'NotFound',
      `${qualified(target.group, target.plural)} "${target.name}" not found`,
      detailsOf(target),
    ),
  noSuchPath: () => new Failure(404, 'NotFound', 'the server could not find the requested resource'),
  alreadyExists: (target: Target) =>
    new Failure(
      409,
      'AlreadyExists',
      `${qualified(target.group, target.plural)} "${target.name}" already exists`,
      detailsOf(target),
    ),
  conflict: (target: Target, why: string) =>
    new Failure(
      409,
      'Conflict',
      `Operation cannot be fulfilled on ${qualified(target.group, target.plural)} "${target.name}": ${why}`,
      detailsOf(target),
    ),
  invalid: (target: Target, causes: readonly string[]) =>
    new Failure(
      422,
      'Invalid',
      `${target.group === '' ? target.kind : `${target.kind}.${target.group}`} "${target.name}" is invalid: ${
        causes.length === 1 ? causes[0] : `[${causes.join(', ')}]`
      }`,
      detailsOf(target),
    ),
  badRequest: (message: string) => new Failure(400, 'BadRequest', message),
  terminating: (target: Target, namespace: string) =>
    new Failure(
      403,
      'Forbidden',
      `${qualified(target.group, target.plural)} "${target.name}" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`,
      {
        ...detailsOf(target),
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: `namespace ${namespace} is being terminated`,
            field: 'metadata.namespace',
          },
        ],
      },
    ),
  expired: (message: string) => new Failure(410, 'Expired', message),
  versionToCome: (given: number, current: number) =>
    new Failure(504, 'Timeout', `Timeout: Too large resource version: ${given}, current: ${current}`, {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    }),
  unsupportedMedia: () =>
    new Failure(415, 'UnsupportedMediaType', 'the body of the request was in an unknown format'),
} as const;

/** Message for a stale resource version. */
export const STALE =
  'the object has been modified; please apply your changes to the latest version and try again';
