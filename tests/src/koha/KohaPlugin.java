import com.ibm.icu.text.Normalizer2;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.icu.ICUFoldingFilter;
import org.apache.lucene.analysis.icu.ICUNormalizer2CharFilter;
import org.apache.lucene.analysis.icu.segmentation.DefaultICUTokenizerConfig;
import org.apache.lucene.analysis.icu.segmentation.ICUTokenizer;
import org.opensearch.client.node.NodeClient;
import org.opensearch.common.settings.Settings;
import org.opensearch.common.util.concurrent.ThreadContext;
import org.opensearch.core.common.io.stream.NamedWriteableRegistry;
import org.opensearch.env.Environment;
import org.opensearch.index.IndexSettings;
import org.opensearch.index.analysis.AbstractCharFilterFactory;
import org.opensearch.index.analysis.AbstractTokenFilterFactory;
import org.opensearch.index.analysis.AbstractTokenizerFactory;
import org.opensearch.index.analysis.CharFilterFactory;
import org.opensearch.index.analysis.NormalizingCharFilterFactory;
import org.opensearch.index.analysis.NormalizingTokenFilterFactory;
import org.opensearch.index.analysis.TokenFilterFactory;
import org.opensearch.index.analysis.TokenizerFactory;
import org.opensearch.index.mapper.Mapper;
import org.opensearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.opensearch.plugins.ActionPlugin;
import org.opensearch.plugins.AnalysisPlugin;
import org.opensearch.plugins.MapperPlugin;
import org.opensearch.plugins.Plugin;
import org.opensearch.rest.RestChannel;
import org.opensearch.rest.RestHandler;
import org.opensearch.rest.RestRequest;
import org.opensearch.search.DocValueFormat;

/**
 * What Koha's index needs of the plugin analysis-icu, under its names, by Lucene's own ICU analysis. No settings of these parts are read.
 * It also keeps a list of the requests that the node gets, in the file requests of its folder of logs.
 */
public final class KohaPlugin extends Plugin implements AnalysisPlugin, MapperPlugin, ActionPlugin {
  private final Path requests;

  public KohaPlugin(Settings settings) {
    requests = Path.of(settings.get("path.logs")).resolve("requests");
  }

  @Override
  public Map<String, AnalysisProvider<TokenizerFactory>> getTokenizers() {
    return Map.of("icu_tokenizer", IcuTokenizer::new);
  }

  @Override
  public Map<String, AnalysisProvider<TokenFilterFactory>> getTokenFilters() {
    return Map.of("icu_folding", IcuFolding::new);
  }

  @Override
  public Map<String, AnalysisProvider<CharFilterFactory>> getCharFilters() {
    return Map.of("icu_normalizer", IcuNormalizer::new);
  }

  @Override
  public Map<String, Mapper.TypeParser> getMappers() {
    return Map.of(CollationMapper.NAME, CollationMapper.PARSER);
  }

  @Override
  public List<NamedWriteableRegistry.Entry> getNamedWriteables() {
    DocValueFormat format = CollationMapper.FORMAT;
    return List.of(new NamedWriteableRegistry.Entry(DocValueFormat.class, format.getWriteableName(), input -> format));
  }

  @Override
  public UnaryOperator<RestHandler> getRestHandlerWrapper(ThreadContext context) {
    return Listed::new;
  }

  /** Writes a line for each request before it is handled: the method and the path. */
  private final class Listed extends RestHandler.Wrapper {
    Listed(RestHandler handler) {
      super(handler);
    }

    @Override
    public void handleRequest(RestRequest request, RestChannel channel, NodeClient client) throws Exception {
      list(request.method() + " " + request.path() + "\n");
      super.handleRequest(request, channel, client);
    }
  }

  private synchronized void list(String line) throws IOException {
    Files.writeString(requests, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
  }

  private static final class IcuTokenizer extends AbstractTokenizerFactory {
    IcuTokenizer(IndexSettings index, Environment environment, String name, Settings settings) {
      super(index, settings, name);
    }

    @Override
    public Tokenizer create() {
      return new ICUTokenizer(new DefaultICUTokenizerConfig(true, true));
    }
  }

  private static final class IcuFolding extends AbstractTokenFilterFactory implements NormalizingTokenFilterFactory {
    IcuFolding(IndexSettings index, Environment environment, String name, Settings settings) {
      super(index, name, settings);
    }

    @Override
    public TokenStream create(TokenStream tokens) {
      return new ICUFoldingFilter(tokens);
    }
  }

  /** The form NFKC_Casefold, which is the default of the plugin. */
  private static final class IcuNormalizer extends AbstractCharFilterFactory implements NormalizingCharFilterFactory {
    IcuNormalizer(IndexSettings index, Environment environment, String name, Settings settings) {
      super(index, name);
    }

    @Override
    public Reader create(Reader text) {
      return new ICUNormalizer2CharFilter(text, Normalizer2.getNFKCCasefoldInstance());
    }
  }
}
