import { parsePickerConfig } from '../../src/config.ts';
import { envoyConfigOf } from '../../src/main/endpoint-picker.ts';
import type { Artifact } from './artifact.ts';

/** Where chart and component have Envoy listen, and by which socket the picker beside it asks it to drain. */
const FLAGS = { listenAddress: ':8000', envoyAdminSocket: '/run/gpu-rent/envoy-admin.sock' };

/** The bootstrap configuration of Envoy in a Pod with a picker, as `gpu-rent endpoint-picker --print-envoy-config` writes it. */
export function gatewayFiles(): readonly Artifact[] {
  const content = envoyConfigOf(parsePickerConfig(FLAGS, {}));
  return ['charts/gpu-rental-operator/files/envoy.json', 'deploy/components/gateway/envoy.json'].map(
    (path) => ({ path, content }),
  );
}
