import com.ibm.icu.text.Collator;
import com.ibm.icu.text.RuleBasedCollator;
import com.ibm.icu.util.ULocale;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.lucene.document.SortedSetDocValuesField;
import org.apache.lucene.util.BytesRef;
import org.opensearch.core.common.io.stream.StreamOutput;
import org.opensearch.index.fielddata.IndexFieldData;
import org.opensearch.index.fielddata.plain.SortedSetOrdinalsIndexFieldData;
import org.opensearch.index.mapper.FieldMapper;
import org.opensearch.index.mapper.ParametrizedFieldMapper;
import org.opensearch.index.mapper.ParseContext;
import org.opensearch.index.mapper.SourceValueFetcher;
import org.opensearch.index.mapper.StringFieldType;
import org.opensearch.index.mapper.TextSearchInfo;
import org.opensearch.index.mapper.ValueFetcher;
import org.opensearch.index.query.QueryShardContext;
import org.opensearch.search.DocValueFormat;
import org.opensearch.search.aggregations.support.CoreValuesSourceType;
import org.opensearch.search.lookup.SearchLookup;

/**
 * The type icu_collation_keyword with the parameters that Koha sets: not indexed, doc values with the keys of ICU's root collation, which may
 * compare digits by their value.
 */
final class CollationMapper extends ParametrizedFieldMapper {
  static final String NAME = "icu_collation_keyword";
  static final TypeParser PARSER = new TypeParser((name, context) -> new Builder(name));

  /** A key in JSON: each octet as the character of its number. What the plugin makes of it is another text, as unreadable. */
  static final DocValueFormat FORMAT = new DocValueFormat() {
    @Override
    public String getWriteableName() {
      return NAME;
    }

    @Override
    public void writeTo(StreamOutput output) { }

    @Override
    public String format(BytesRef key) {
      return new String(key.bytes, key.offset, key.length, StandardCharsets.ISO_8859_1);
    }

    @Override
    public BytesRef parseBytesRef(String text) {
      return new BytesRef(text.getBytes(StandardCharsets.ISO_8859_1));
    }
  };

  private final boolean indexed;
  private final boolean numeric;
  private final RuleBasedCollator collator;

  private CollationMapper(Builder from, Type type, MultiFields fields, CopyTo copies) {
    super(from.name(), type, fields, copies);
    indexed = from.indexed.getValue();
    numeric = from.numeric.getValue();
    collator = type.collator;
  }

  @Override
  public ParametrizedFieldMapper.Builder getMergeBuilder() {
    return new Builder(simpleName()).init(this);
  }

  @Override
  protected String contentType() {
    return NAME;
  }

  @Override
  protected void parseCreateField(ParseContext context) throws IOException {
    String text = context.externalValueSet() ? context.externalValue().toString() : context.parser().textOrNull();
    if (text != null) {
      context.doc().add(new SortedSetDocValuesField(fieldType().name(), key(collator, text)));
    }
  }

  private static BytesRef key(RuleBasedCollator collator, String text) {
    byte[] key = collator.getCollationKey(text).toByteArray();
    // The key ends with a zero, which is left out.
    return new BytesRef(key, 0, key.length - 1);
  }

  private static final class Builder extends ParametrizedFieldMapper.Builder {
    private final Parameter<Boolean> indexed = Parameter.indexParam(mapper -> ((CollationMapper) mapper).indexed, false);
    private final Parameter<Boolean> numeric = Parameter.boolParam("numeric", false, mapper -> ((CollationMapper) mapper).numeric, false);
    private final Parameter<Map<String, String>> meta = Parameter.metaParam();

    Builder(String name) {
      super(name);
    }

    @Override
    protected List<Parameter<?>> getParameters() {
      return List.of(indexed, numeric, meta);
    }

    @Override
    public CollationMapper build(BuilderContext context) {
      if (indexed.getValue()) {
        throw new IllegalArgumentException(NAME + " of these tests is for sorting only: index must be false");
      }
      RuleBasedCollator collator = (RuleBasedCollator) Collator.getInstance(ULocale.ROOT);
      collator.setNumericCollation(numeric.getValue());
      collator.freeze();
      Type type = new Type(buildFullName(context), meta.getValue(), collator);
      return new CollationMapper(this, type, multiFieldsBuilder.build(this, context), copyTo.build());
    }
  }

  private static final class Type extends StringFieldType {
    private final RuleBasedCollator collator;

    Type(String name, Map<String, String> meta, RuleBasedCollator collator) {
      super(name, false, false, true, TextSearchInfo.NONE, meta);
      this.collator = collator;
    }

    @Override
    public String typeName() {
      return NAME;
    }

    @Override
    protected BytesRef indexedValueForSearch(Object value) {
      String text = value instanceof BytesRef octets ? octets.utf8ToString() : value.toString();
      return key(collator, text);
    }

    @Override
    public IndexFieldData.Builder fielddataBuilder(String index, Supplier<SearchLookup> lookup) {
      return new SortedSetOrdinalsIndexFieldData.Builder(name(), CoreValuesSourceType.BYTES);
    }

    @Override
    public DocValueFormat docValueFormat(String format, ZoneId zone) {
      return FORMAT;
    }

    @Override
    public ValueFetcher valueFetcher(QueryShardContext context, SearchLookup lookup, String format) {
      return new SourceValueFetcher(name(), context) {
        @Override
        protected Object parseSourceValue(Object value) {
          return value.toString();
        }
      };
    }
  }
}
