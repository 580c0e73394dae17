import { badRequest } from '../calls/refusal.ts';
import { booleanField, characters, integerField, stringField } from '../calls/request-body.ts';
import type { WrittenFields } from '../calls/written-fields.ts';
import type { JsonObject } from '../json.ts';
import type { RemoveCall } from '../tfa/methods.ts';
import type { Proof } from '../tfa/verify.ts';

const E164 = /^\+[1-9]\d{6,14}$/;
const SIX_DIGITS = /^\d{6}$/;
/** Specification 8. */
const LABEL_CHARACTERS = 30;

/** A text field; an empty one counts as absent. */
export function optionalText(body: JsonObject, name: string): string | undefined {
  return stringField(body, name) || undefined;
}

/** A code of six digits, given as text so that leading zeros survive. */
export function codeField(body: JsonObject): string | undefined {
  const code = optionalText(body, 'code');
  if (code !== undefined && !SIX_DIGITS.test(code)) throw badRequest('code must be a string of 6 digits.');
  return code;
}

/** A phone number in E.164 form. */
export function phoneField(body: JsonObject): string | undefined {
  const phone = optionalText(body, 'phone_number');
  if (phone !== undefined && !E164.test(phone)) {
    throw badRequest('phone_number must be in E.164 form, such as +14155550100.');
  }
  return phone;
}

/** A label of a method; an empty one is a label too. */
export function labelField(body: JsonObject): string | undefined {
  const label = stringField(body, 'label');
  if (label !== undefined && characters(label) > LABEL_CHARACTERS) {
    throw badRequest(`label must be at most ${LABEL_CHARACTERS} characters.`);
  }
  return label;
}

/** A method id, which public clients send as a number or as a string of digits. */
export function methodIdField(body: JsonObject): number | undefined {
  return integerField(body, 'tfa_method_id');
}

/** What the specification names for a proof of a second factor. */
export const PROOF = {
  tfa_method: 'text',
  code: 'text',
  secret: 'text',
  tfa_method_id: 'integer',
  backup_code: 'text',
} as const satisfies WrittenFields;

/** The fields that prove a second factor. */
export function proofFields(body: JsonObject): Proof {
  return {
    tfaMethod: optionalText(body, 'tfa_method'),
    methodId: methodIdField(body),
    code: codeField(body),
    secret: optionalText(body, 'secret'),
    backupCode: optionalText(body, 'backup_code'),
  };
}

export function loginFields(body: JsonObject): Proof & { admin: boolean } {
  return { ...proofFields(body), admin: booleanField(body, 'admin') ?? false };
}

export function removeFields(body: JsonObject): RemoveCall {
  return { ...proofFields(body), targetId: integerField(body, 'target_id') };
}
