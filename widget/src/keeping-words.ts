/** The words of the menu, in every language of the widget: download, delete, is that meant, it failed. */

const NAMES = ["take", "erase", "sure", "failed"];

const WORDS: Readonly<Record<string, string>> = {
  en: "Download chat|Delete chat|Delete for good?|That did not work",
  "zh-CN": "下载对话|删除对话|确定删除？|操作失败",
  "zh-TW": "下載對話|刪除對話|確定刪除？|操作失敗",
  ja: "チャットを保存|チャットを削除|完全に削除しますか？|できませんでした",
  ko: "대화 내려받기|대화 삭제|영구히 삭제할까요?|실패했습니다",
  es: "Descargar chat|Eliminar chat|¿Eliminar para siempre?|No se pudo hacer",
  fr: "Télécharger|Supprimer|Supprimer définitivement ?|Cela n’a pas fonctionné",
  de: "Chat herunterladen|Chat löschen|Endgültig löschen?|Das hat nicht geklappt",
  pt: "Baixar conversa|Excluir conversa|Excluir para sempre?|Não funcionou",
  ru: "Скачать чат|Удалить чат|Удалить навсегда?|Не получилось",
  ar: "تنزيل المحادثة|حذف المحادثة|حذف نهائي؟|تعذّر ذلك",
  he: "הורדת הצ'אט|מחיקת הצ'אט|למחוק לצמיתות?|הפעולה נכשלה",
  vi: "Tải cuộc trò chuyện|Xóa cuộc trò chuyện|Xóa vĩnh viễn?|Không thực hiện được",
  id: "Unduh obrolan|Hapus obrolan|Hapus selamanya?|Tidak berhasil",
};

export function wordsOf(language: string): Record<string, string> {
  const words = (WORDS[language] ?? WORDS.en ?? "").split("|");
  return Object.fromEntries(NAMES.map((name, at) => [name, words[at] ?? ""]));
}
