import type { Collection } from "../api/types";
import { Icon } from "../parts/Icon";
import { useTexts } from "../parts/useTexts";

/** Who may read a collection, with an icon and a word. */
export function AccessWords({ collection }: { collection: Collection }) {
  const { t } = useTexts();
  const count = collection.access?.length ?? 0;
  return (
    <span className="access">
      <Icon name={collection.is_open ? "globe" : "lock"} />
      {collection.is_open
        ? t("knowledge.everyone")
        : !collection.may_edit
          ? t("knowledge.shared")
          : count === 0
            ? t("knowledge.mine")
            : t("knowledge.some", { count })}
    </span>
  );
}
