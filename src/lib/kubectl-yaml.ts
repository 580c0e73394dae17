import type { DocumentOptions, ParseOptions, SchemaOptions, Tags } from 'yaml';

/** Forms of YAML 1.1 that kubectl's parser leaves as text: times, and numbers to base 60. */
const isText = (tag: Tags[number]): boolean =>
  typeof tag === 'object' &&
  (tag.tag === 'tag:yaml.org,2002:timestamp' || ('format' in tag && tag.format === 'TIME'));

/**
 * How kubectl reads a manifest, so that no two programs understand one file differently: as YAML 1.1, where `NO`, `on` and
 * `yes` are booleans and `010` is eight.
 */
export const KUBECTL_YAML: ParseOptions & DocumentOptions & SchemaOptions = {
  version: '1.1',
  customTags: (tags) => tags.filter((tag) => !isText(tag)),
};
