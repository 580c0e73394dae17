import { isJsonObject, ownValue } from '../../lib/json.ts';
import { endpointGroupForm } from './endpoint-group-form.ts';
import { gpuInstanceForm } from './gpu-instance-form.ts';
import { marketplaceAccountForm } from './marketplace-account-form.ts';
import { API_VERSION } from './names.ts';
import { decodeStatus, encodeStatus, type StatusForm } from './record.ts';

/** Kinds whose status in memory differs from the stored one. */
export const statusForms: Readonly<Record<string, StatusForm>> = {
  GpuInstance: gpuInstanceForm,
  MarketplaceAccount: marketplaceAccountForm,
  EndpointGroup: endpointGroupForm,
};

/** Converts objects of the operator's kinds between the API server and memory. Other objects pass unchanged. */
export const statusCodec = {
  /** Returns the object for readers. Never throws. */
  decode: <T extends object>(object: T): T => changed(object, decodeStatus),
  /** Returns the object as the API server stores it. */
  encode: <T extends object>(object: T): T => changed(object, encodeStatus),
};

function changed<T extends object>(object: T, change: typeof decodeStatus): T {
  const { apiVersion, kind, status } = object as Readonly<Record<string, unknown>>;
  if (apiVersion !== API_VERSION || typeof kind !== 'string' || !isJsonObject(status)) return object;
  const form = ownValue(statusForms, kind);
  return form ? { ...object, status: change(form, status) } : object;
}
