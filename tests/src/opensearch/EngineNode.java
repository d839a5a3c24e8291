import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.opensearch.Version;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.PluginInfo;

/**
 * A node of OpenSearch 2 or 3 in this process: name, folder, HTTP port, transport port, transport ports of all nodes, names of all
 * nodes. It ends when its standard input closes, and removes its folder.
 */
public final class EngineNode extends Node {
  /** The names in OpenSearch 2 and 3. */
  private static final List<List<String>> PLUGINS = List.of(
      List.of("org.opensearch.transport.Netty4Plugin", "org.opensearch.transport.Netty4ModulePlugin"),
      List.of("org.opensearch.analysis.common.CommonAnalysisPlugin", "org.opensearch.analysis.common.CommonAnalysisModulePlugin"),
      List.of("org.opensearch.index.reindex.ReindexPlugin", "org.opensearch.index.reindex.ReindexModulePlugin"),
      // Only the nodes for Koha's index need this plugin.
      List.of("KohaPlugin"));

  @SuppressWarnings({"rawtypes", "unchecked"})
  private EngineNode(Environment environment, Collection plugins) {
    super(environment, plugins, true);
  }

  private static List<Object> plugins() {
    List<Object> found = new ArrayList<>();
    for (List<String> names : PLUGINS) {
      for (String name : names) {
        try {
          found.add(Version.CURRENT.major < 3 ? Class.forName(name) : described(Class.forName(name)));
        } catch (ClassNotFoundException other) {
          continue;
        }
      }
    }
    return found;
  }

  private static PluginInfo described(Class<?> plugin) {
    String java = Integer.toString(Runtime.version().feature());
    return new PluginInfo(plugin.getName(), "on the class path", "NA", Version.CURRENT, java, plugin.getName(), List.of(), false);
  }

  private static void remove(Path folder) throws IOException {
    try (Stream<Path> paths = Files.walk(folder)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    }
    // All nodes share the parent folder; the last node to end removes it.
    try {
      Files.deleteIfExists(folder.getParent());
    } catch (IOException others) {
      return;
    }
  }

  public static void main(String[] arguments) throws Exception {
    String name = arguments[0];
    Path home = Path.of(arguments[1]).toAbsolutePath();
    for (String folder : List.of("config", "data", "logs", "modules", "plugins")) {
      Files.createDirectories(home.resolve(folder));
    }
    Settings settings = Settings.builder()
        .put("cluster.name", "z3950").put("node.name", name)
        .put("path.home", home.toString()).put("path.data", home.resolve("data").toString())
        .put("path.logs", home.resolve("logs").toString())
        .put("network.host", "127.0.0.1").put("http.port", arguments[2]).put("transport.port", arguments[3])
        .putList("discovery.seed_hosts", Arrays.stream(arguments[4].split(",")).map(port -> "127.0.0.1:" + port).toArray(String[]::new))
        .putList("cluster.initial_cluster_manager_nodes", arguments[5].split(","))
        .put("cluster.routing.allocation.disk.threshold_enabled", false)
        .put("action.auto_create_index", "false")
        // By default, garbage counts as memory in use, and small nodes with a simple collector would refuse requests.
        .put("indices.breaker.total.use_real_memory", "false")
        .put("node.processors", 1)
        // A node that hangs is detected within seconds.
        .put("cluster.fault_detection.follower_check.timeout", "3s")
        .put("cluster.fault_detection.follower_check.retry_count", 1)
        .build();
    Environment environment = InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), home.resolve("config"), () -> name);
    EngineNode node = new EngineNode(environment, plugins());
    node.start();
    while (System.in.read() >= 0) { }
    node.close();
    remove(home);
    System.exit(0);
  }
}
