/** The Envoy of the chart: the index of the image for all architectures, by its digest. */
export const ENVOY_IMAGE = {
  registry: 'docker.io',
  repository: 'envoyproxy/envoy',
  tag: 'distroless-v1.39.1',
  digest: 'sha256:eb2c01c13125d1629637cb4e4cce7207009fb7cc2c8027f9742758549d15b6f4',
} as const;
