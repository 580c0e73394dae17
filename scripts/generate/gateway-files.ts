import { parsePickerConfig } from '../../src/config.ts';
import { envoyConfigOf } from '../../src/main/endpoint-picker.ts';
import type { Artifact } from './artifact.ts';

/** Addresses of Envoy in chart and component, and the socket by which the picker beside it drains it. */
const FLAGS = { listenAddress: ':8000', envoyAdminSocket: '/run/gpu-rent/envoy-admin.sock' };

/**
 * Returns the bootstrap configuration of Envoy in a Pod with a picker, from
 * `gpu-rent endpoint-picker --print-envoy-config`.
 */
export function gatewayFiles(): readonly Artifact[] {
  const content = envoyConfigOf(parsePickerConfig(FLAGS, {}));
  return ['charts/gpu-rental-operator/files/envoy.json', 'deploy/components/gateway/envoy.json'].map(
    (path) => ({ path, content }),
  );
}
